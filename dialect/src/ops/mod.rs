//! Every op, by dialect and family. An op is a unit struct with one `impl OpDef` and one line in its family's `OPS`,
//! both in one file; a new family is a module and a row in its dialect's `mod.rs`.

pub mod build;
mod cf;
pub mod check;
pub mod chlo;
pub mod func;
pub mod interpreter;
mod linalg;
pub mod mhlo;
pub mod mpmd;
pub mod sdy;
pub mod shardc;
pub mod stablehlo;
pub mod support;
mod unknown;

pub use unknown::UNKNOWN;

use crate::op::OpDef;

/// The ops of each dialect, by family.
static DIALECTS: [&[&[&dyn OpDef]]; 10] = [
    &[func::OPS],
    stablehlo::OPS,
    chlo::OPS,
    &[sdy::OPS],
    &[shardc::OPS],
    &[mpmd::OPS],
    &[check::OPS],
    &[cf::OPS],
    &[interpreter::OPS],
    linalg::OPS,
];

/// All known ops, in the order of the dialects, which has no meaning.
pub static OPS: &[&dyn OpDef] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut n, mut dialect) = (0, 0);
    while dialect < DIALECTS.len() {
        let mut family = 0;
        while family < DIALECTS[dialect].len() {
            n += DIALECTS[dialect][family].len();
            family += 1;
        }
        dialect += 1;
    }
    n
}

const fn joined<const N: usize>() -> [&'static dyn OpDef; N] {
    let mut ops: [&dyn OpDef; N] = [&UNKNOWN; N];
    let (mut n, mut dialect) = (0, 0);
    while dialect < DIALECTS.len() {
        let mut family = 0;
        while family < DIALECTS[dialect].len() {
            let mut i = 0;
            while i < DIALECTS[dialect][family].len() {
                ops[n] = DIALECTS[dialect][family][i];
                n += 1;
                i += 1;
            }
            family += 1;
        }
        dialect += 1;
    }
    ops
}
