//! The analyses and rewrites of the program before the plan, and the writing of the plan into the program.

pub(crate) mod assemblies;
pub(crate) mod carried;
pub(crate) mod emit;
pub(crate) mod graph;
pub(crate) mod memory;
pub(crate) mod partial;
pub(crate) mod propagated;
pub(crate) mod shifts;
pub(crate) mod steps;
pub(crate) mod takes;
