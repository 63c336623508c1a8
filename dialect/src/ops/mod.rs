//! Every op, by family. An op is a unit struct with one `impl OpDef` and one line in [`OPS`]; a new op touches its
//! family's file alone.

pub mod elementwise;
pub mod func;
mod unknown;

pub use unknown::UNKNOWN;

use crate::op::OpDef;

/// All known ops. Order is that of the families and has no meaning.
pub static OPS: &[&dyn OpDef] = &[
    // func
    &func::MODULE,
    &func::FUNC,
    &func::RETURN,
    &func::CALL,
    // elementwise
];
