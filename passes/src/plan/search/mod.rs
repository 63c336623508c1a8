//! The searches over whole programs: a greedy plan, moves of whole dimension classes, rewrites around one value.

pub(crate) mod between;
mod demand;
pub(crate) mod draft;
pub(crate) mod egraph;
pub(crate) mod expand;
pub(crate) mod greedy;
pub(crate) mod portfolio;
mod step_time;
