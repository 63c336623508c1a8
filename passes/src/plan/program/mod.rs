//! Reading the program before the plan, and writing the plan into the program.

pub(crate) mod carried;
pub(crate) mod emit;
pub(crate) mod graph;
pub(crate) mod memory;
pub(crate) mod reader;
