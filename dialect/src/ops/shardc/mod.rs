//! Ops of our own that the plan writes where StableHLO has none that says in one what is to be moved.

pub mod assemble;

use crate::op::OpDef;

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[&assemble::Assemble];
