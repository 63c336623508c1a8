//! The precision of arithmetic: the spacing of each float type, and which scalar operations round.

use crate::ir::{ElementClass, ElementType};
use crate::scalar::ScalarOp;
use crate::small_float;

/// The relation of a scalar operation's result to the exact one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Rounding {
    /// It is the exact result: minima, selections, signs, comparisons.
    Exact,
    /// It is the exact result rounded once, the same everywhere: `+ - * / sqrt`, conversions.
    Once,
    /// An elementary function, which each implementation approximates differently.
    Approximate,
}

impl ScalarOp {
    /// Returns how its result is rounded, as floats.
    pub fn rounding(self) -> Rounding {
        use ScalarOp::*;
        match self {
            Add | Sub | Mul | MulAdd | Div | Sqrt | Convert | ReducePrecision { .. } => Rounding::Once,
            Pow | Atan2 | Rsqrt | Cbrt | Exp | Expm1 | Log | Log1p | Logistic | Tanh | Tan | Sin | Cos => {
                Rounding::Approximate
            }
            _ => Rounding::Exact,
        }
    }
}

impl ElementType {
    /// Returns the distance from 1 to the next larger value of a float type, or of a complex type's parts; 0 for other
    /// types.
    pub fn epsilon(self) -> f64 {
        match self {
            ElementType::F64 | ElementType::C128 => f64::EPSILON,
            ElementType::F32 | ElementType::C64 => f32::EPSILON.into(),
            ElementType::F16 => half::f16::EPSILON.to_f64(),
            ElementType::BF16 => half::bf16::EPSILON.to_f64(),
            _ if self.class() == ElementClass::Float => small_float::epsilon(self),
            _ => 0.0,
        }
    }

    /// Returns the smallest normal number of a float type, or of a complex type's parts; 0 for other types.
    pub fn smallest_normal(self) -> f64 {
        match self {
            ElementType::F64 | ElementType::C128 => f64::MIN_POSITIVE,
            ElementType::F32 | ElementType::C64 => f32::MIN_POSITIVE.into(),
            ElementType::F16 => half::f16::MIN_POSITIVE.to_f64(),
            ElementType::BF16 => half::bf16::MIN_POSITIVE.to_f64(),
            _ if self.class() == ElementClass::Float => small_float::smallest_normal(self),
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Scalar;

    #[test]
    fn epsilon_is_what_rounding_keeps() {
        use ElementType::*;
        for element in [F64, F32, F16, BF16, F8E4M3FN, F8E5M2, F8E3M4, F6E2M3FN, F4E2M1FN] {
            let (epsilon, smallest) = (element.epsilon(), element.smallest_normal());
            let kept = |v: f64| Scalar::Float(v).round(element) == Scalar::Float(v);
            assert!(kept(1.0 + epsilon) && (element == F64 || !kept(1.0 + epsilon / 2.0)), "{element:?}");
            assert!(kept(smallest) && kept(smallest * (1.0 + epsilon)), "{element:?}");
            assert!(element == F64 || !kept(smallest / 2.0 * (1.0 + epsilon)), "{element:?}");
        }
        assert_eq!((I32.epsilon(), I1.smallest_normal()), (0.0, 0.0));
        assert_eq!(C64.epsilon(), F32.epsilon());
    }
}
