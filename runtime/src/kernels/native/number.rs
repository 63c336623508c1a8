//! The element types that native code computes with, and the results of [`ScalarOp`] for two of their elements.

use bytemuck::{AnyBitPattern, NoUninit};
use dialect::scalar::{ScalarOp, to_odd};
use half::{bf16, f16};

/// An element. Operations are those of the reference: integers wrap, a NaN wins every maximum, -0 is less than +0.
pub(crate) trait Number: AnyBitPattern + NoUninit + Send + Sync {
    /// Returns `self op other`. Only for operations that [`has`] returns true for.
    fn combine(self, op: ScalarOp, other: Self) -> Self;
}

/// A float.
pub(crate) trait Float: Number {
    /// Converts to f64, exactly.
    fn wide(self) -> f64;
    /// Converts to the nearest value.
    fn narrow(value: f64) -> Self;
}

/// Returns whether elements can be combined by `op`: sums, products and extremes of all numbers, and bitwise operations
/// of integers.
pub(crate) fn has(op: ScalarOp, float: bool) -> bool {
    use ScalarOp::{Add, And, Max, Min, Mul, Or, Xor};
    matches!(op, Add | Mul | Max | Min) || !float && matches!(op, And | Or | Xor)
}

macro_rules! integers {
    ($($t:ty)*) => { $(
        impl Number for $t {
            #[inline(always)]
            fn combine(self, op: ScalarOp, other: Self) -> Self {
                match op {
                    ScalarOp::Add => self.wrapping_add(other),
                    ScalarOp::Mul => self.wrapping_mul(other),
                    ScalarOp::Max => self.max(other),
                    ScalarOp::Min => self.min(other),
                    ScalarOp::And => self & other,
                    ScalarOp::Or => self | other,
                    ScalarOp::Xor => self ^ other,
                    _ => unreachable!("{op:?}"),
                }
            }
        }
    )* };
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

/// A boolean: 0 or 1. Sums are "or", products "and".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AnyBitPattern, NoUninit)]
#[repr(transparent)]
pub(crate) struct Truth(u8);

impl Number for Truth {
    #[inline(always)]
    fn combine(self, op: ScalarOp, other: Self) -> Self {
        Self(match op {
            ScalarOp::Add | ScalarOp::Max | ScalarOp::Or => self.0 | other.0,
            ScalarOp::Mul | ScalarOp::Min | ScalarOp::And => self.0 & other.0,
            ScalarOp::Xor => self.0 ^ other.0,
            _ => unreachable!("{op:?}"),
        })
    }
}

macro_rules! floats {
    ($($t:ty: $wide:expr, $narrow:expr;)*) => { $(
        impl Float for $t {
            #[inline(always)]
            fn wide(self) -> f64 {
                $wide(self)
            }

            #[inline(always)]
            fn narrow(value: f64) -> Self {
                $narrow(value)
            }
        }

        impl Number for $t {
            #[inline(always)]
            fn combine(self, op: ScalarOp, other: Self) -> Self {
                let (a, b) = (self.wide(), other.wide());
                // Has no branches, because the processor couldn't predict them.
                let pick = |first: bool| if a.is_nan() | (!b.is_nan() & first) { self } else { other };
                match op {
                    // Rounding the sum or product in f64 once has the result of rounding the exact one, for all
                    // narrower types.
                    ScalarOp::Add => Self::narrow(a + b),
                    ScalarOp::Mul => Self::narrow(a * b),
                    ScalarOp::Max => pick((a > b) | ((a == b) & b.is_sign_negative())),
                    ScalarOp::Min => pick((a < b) | ((a == b) & a.is_sign_negative())),
                    _ => unreachable!("{op:?}"),
                }
            }
        }
    )* };
}

floats! {
    f64: |v| v, |v| v;
    f32: f64::from, |v| v as f32;
    bf16: |v: bf16| f64::from(f32::from_bits(u32::from(v.to_bits()) << 16)), |v| bf16::from_f32(to_odd(v));
    f16: |v: f16| v.to_f64(), |v| f16::from_f32(to_odd(v));
}

/// Runs `$body` with `$t` as the Rust type of elements of type `$element`; `$else` if there is none.
macro_rules! with_number {
    ($element:expr, $t:ident => $body:expr, else $else:expr) => {
        match $element {
            dialect::ir::ElementType::I1 => {
                type $t = crate::kernels::native::number::Truth;
                $body
            }
            dialect::ir::ElementType::I8 => {
                type $t = i8;
                $body
            }
            dialect::ir::ElementType::UI8 => {
                type $t = u8;
                $body
            }
            dialect::ir::ElementType::I16 => {
                type $t = i16;
                $body
            }
            dialect::ir::ElementType::UI16 => {
                type $t = u16;
                $body
            }
            dialect::ir::ElementType::I32 => {
                type $t = i32;
                $body
            }
            dialect::ir::ElementType::UI32 => {
                type $t = u32;
                $body
            }
            dialect::ir::ElementType::I64 => {
                type $t = i64;
                $body
            }
            dialect::ir::ElementType::UI64 => {
                type $t = u64;
                $body
            }
            _ => crate::kernels::native::number::with_float!($element, $t => $body, else $else),
        }
    };
}

/// Does the same as [`with_number`], but only for floats.
macro_rules! with_float {
    ($element:expr, $t:ident => $body:expr, else $else:expr) => {
        match $element {
            dialect::ir::ElementType::BF16 => {
                type $t = half::bf16;
                $body
            }
            dialect::ir::ElementType::F16 => {
                type $t = half::f16;
                $body
            }
            dialect::ir::ElementType::F32 => {
                type $t = f32;
                $body
            }
            dialect::ir::ElementType::F64 => {
                type $t = f64;
                $body
            }
            _ => $else,
        }
    };
}

pub(crate) use {with_float, with_number};
