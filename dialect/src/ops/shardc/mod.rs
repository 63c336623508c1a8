//! Custom ops that the plan writes for moves of data that no single op of StableHLO expresses.

pub mod assemble;

use crate::op::OpDef;

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[&assemble::Assemble];
