//! The ops of CHLO, the dialect of mathematical functions above StableHLO, and constants of other dialects.
//! Source: <https://openxla.org/stablehlo/generated/chlo>.

pub mod broadcasting;
pub mod constant_like;
pub mod elementwise;
mod formula;
pub mod minimum_broadcast_shapes;
mod mulhi;
pub mod ragged_dot;
pub mod scan;
pub mod top_k;

use crate::op::OpDef;

/// The ops of this dialect, a row for each family. The order has no meaning.
pub static OPS: &[&[&dyn OpDef]] = &[
    broadcasting::OPS,
    constant_like::OPS,
    elementwise::OPS,
    minimum_broadcast_shapes::OPS,
    ragged_dot::OPS,
    scan::OPS,
    top_k::OPS,
];
