//! Every op, by dialect and family. An op is a unit struct with one `impl OpDef` and one line in its dialect's `OPS`; a
//! new op touches only its family's file.

pub mod build;
pub mod check;
pub mod chlo;
pub mod func;
pub mod interpreter;
pub mod mhlo;
pub mod sdy;
pub mod stablehlo;
pub mod support;
mod unknown;

pub use unknown::UNKNOWN;

use crate::op::OpDef;

/// The ops of each dialect.
static DIALECTS: [&[&dyn OpDef]; 6] = [func::OPS, stablehlo::OPS, chlo::OPS, sdy::OPS, check::OPS, interpreter::OPS];

/// All known ops. They are in the order of the dialects, which has no meaning.
pub static OPS: &[&dyn OpDef] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut n, mut dialect) = (0, 0);
    while dialect < DIALECTS.len() {
        n += DIALECTS[dialect].len();
        dialect += 1;
    }
    n
}

const fn joined<const N: usize>() -> [&'static dyn OpDef; N] {
    let mut ops: [&dyn OpDef; N] = [&UNKNOWN; N];
    let (mut n, mut dialect) = (0, 0);
    while dialect < DIALECTS.len() {
        let mut i = 0;
        while i < DIALECTS[dialect].len() {
            ops[n] = DIALECTS[dialect][i];
            n += 1;
            i += 1;
        }
        dialect += 1;
    }
    ops
}
