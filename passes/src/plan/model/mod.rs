//! The model of a plan: strategies of ops, costs of collectives and work, peak memory.

pub(crate) mod choice;
pub mod cost;
pub mod exchanged;
pub(crate) mod linear;
pub mod machine_cost;
pub(crate) mod meaning;
pub(crate) mod peak;
pub mod strategy;
