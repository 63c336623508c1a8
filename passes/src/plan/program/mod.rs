//! What the plan reads off the program and what it writes into it.

pub(crate) mod emit;
pub(crate) mod graph;
pub(crate) mod homes;
pub(crate) mod pieces;
