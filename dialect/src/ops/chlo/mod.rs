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

/// The ops of this dialect.
pub static OPS: &[&dyn OpDef] = &[
    &elementwise::CHLO_SQUARE,
    &elementwise::CHLO_TAN,
    &elementwise::CHLO_ATAN,
    &elementwise::CHLO_ASIN,
    &elementwise::CHLO_ACOS,
    &elementwise::CHLO_SINH,
    &elementwise::CHLO_COSH,
    &elementwise::CHLO_ASINH,
    &elementwise::CHLO_ACOSH,
    &elementwise::CHLO_ATANH,
    &elementwise::CHLO_ASIN_ACOS_KERNEL,
    &elementwise::CHLO_CONJ,
    &elementwise::CHLO_IS_INF,
    &elementwise::CHLO_IS_POS_INF,
    &elementwise::CHLO_IS_NEG_INF,
    &elementwise::CHLO_ERF,
    &elementwise::CHLO_ERFC,
    &elementwise::CHLO_ERF_INV,
    &elementwise::CHLO_LGAMMA,
    &elementwise::CHLO_DIGAMMA,
    &elementwise::CHLO_BESSEL_I1E,
    &elementwise::CHLO_NEXT_AFTER,
    &elementwise::CHLO_ZETA,
    &elementwise::CHLO_POLYGAMMA,
    &elementwise::CHLO_MULHI,
    &constant_like::CHLO_CONSTANT,
    &constant_like::ARITH_CONSTANT,
    &constant_like::ConstantLike,
    &broadcasting::BROADCAST_ADD,
    &broadcasting::BROADCAST_AND,
    &broadcasting::BROADCAST_ATAN2,
    &broadcasting::BROADCAST_COMPARE,
    &broadcasting::BROADCAST_COMPLEX,
    &broadcasting::BROADCAST_DIVIDE,
    &broadcasting::BROADCAST_MAXIMUM,
    &broadcasting::BROADCAST_MINIMUM,
    &broadcasting::BROADCAST_MULTIPLY,
    &broadcasting::BROADCAST_NEXT_AFTER,
    &broadcasting::BROADCAST_OR,
    &broadcasting::BROADCAST_POLYGAMMA,
    &broadcasting::BROADCAST_POWER,
    &broadcasting::BROADCAST_REMAINDER,
    &broadcasting::BROADCAST_SELECT,
    &broadcasting::BROADCAST_SHIFT_LEFT,
    &broadcasting::BROADCAST_SHIFT_RIGHT_ARITHMETIC,
    &broadcasting::BROADCAST_SHIFT_RIGHT_LOGICAL,
    &broadcasting::BROADCAST_SUBTRACT,
    &broadcasting::BROADCAST_XOR,
    &broadcasting::BROADCAST_ZETA,
    &minimum_broadcast_shapes::MinimumBroadcastShapes,
    &ragged_dot::RaggedDot,
    &top_k::TopK,
    &scan::Scan,
];
