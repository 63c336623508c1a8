//! The value of one element, and the closed set of scalar operations in which kernels are written.
//!
//! Values are computed wider than stored (integers in i128, floats in f64) and rounded once to the element type
//! by [`Scalar::round`], which for `+ - * / sqrt` on f32, bf16 and f16 is the correctly rounded result.

use std::fmt;

use half::{bf16, f16};

use crate::ir::{ElementClass, ElementType};

/// The value of one element.
#[derive(Clone, Copy, PartialEq)]
pub enum Scalar {
    /// Booleans and integers of every width.
    Int(i128),
    /// Real floating point.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
}

/// The direction of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// A scalar operation. Operands and result have the element type given with it in a [`Body`](crate::kernel::Body),
/// except where noted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are the operations of the StableHLO specification")]
pub enum ScalarOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    Max,
    Min,
    Atan2,
    And,
    Or,
    Xor,
    Not,
    Shl,
    ShrArithmetic,
    ShrLogical,
    Popcnt,
    Clz,
    Neg,
    Abs,
    Sign,
    Floor,
    Ceil,
    RoundAfz,
    RoundEven,
    Sqrt,
    Rsqrt,
    Cbrt,
    Exp,
    Expm1,
    Log,
    Log1p,
    Logistic,
    Tanh,
    Tan,
    Sin,
    Cos,
    /// `a * b + c` of floats, rounded once in f64.
    MulAdd,
    /// Real operand to i1.
    IsFinite,
    /// Two operands of one type to i1.
    Compare(Comparison),
    /// Two floats to i1 by IEEE total order.
    CompareTotal(Comparison),
    /// i1, then two operands of the result's type.
    Select,
    /// Any type to the result's type.
    Convert,
    /// The same bits as an element of the result's type, which has the same width.
    Bitcast,
    /// The real part of a complex number.
    Real,
    /// The imaginary part of a complex number.
    Imag,
    /// Two floats to complex.
    Complex,
    /// Rounds a float to this many exponent and mantissa bits.
    ReducePrecision {
        exponent: u8,
        mantissa: u8,
    },
}

impl ScalarOp {
    /// Returns the value that changes no other value when combined with it; `None` if there is none or none is known.
    pub fn identity(self, element: ElementType) -> Option<Scalar> {
        let all_ones = || Scalar::Int(-1).round(element);
        match (self, element.class()) {
            (_, ElementClass::Other) => None,
            (ScalarOp::Add, _) => Some(Scalar::zero(element)),
            (ScalarOp::Mul, _) => Some(Scalar::one(element)),
            (ScalarOp::Max, ElementClass::Float) => Some(Scalar::Float(extreme(element, f64::NEG_INFINITY))),
            (ScalarOp::Min, ElementClass::Float) => Some(Scalar::Float(extreme(element, f64::INFINITY))),
            (ScalarOp::Max, ElementClass::Complex) => Some(Scalar::Complex(f64::NEG_INFINITY, f64::NEG_INFINITY)),
            (ScalarOp::Min, ElementClass::Complex) => Some(Scalar::Complex(f64::INFINITY, f64::INFINITY)),
            (ScalarOp::Max, ElementClass::Signed) => Some(Scalar::Int(-(1 << (element.bits() - 1)))),
            (ScalarOp::Min, ElementClass::Signed) => Some(Scalar::Int((1 << (element.bits() - 1)) - 1)),
            (ScalarOp::Max, _) => Some(Scalar::Int(0)),
            (ScalarOp::Min, _) => Some(all_ones()),
            (_, ElementClass::Float | ElementClass::Complex) => None,
            (ScalarOp::Or | ScalarOp::Xor, _) => Some(Scalar::Int(0)),
            (ScalarOp::And, _) => Some(all_ones()),
            _ => None,
        }
    }
}

/// Returns an infinity, or the extreme finite value for a type without infinities.
fn extreme(element: ElementType, infinity: f64) -> f64 {
    if round_float(infinity, element) == infinity {
        return infinity;
    }
    // The infinity rounds to NaN or to that value: search all patterns of such narrow types.
    let values = (0..=u8::MAX).filter_map(|bits| match Scalar::decode(element, &[bits]) {
        Scalar::Float(v) if !v.is_nan() => Some(v),
        _ => None,
    });
    values.fold(-infinity, if infinity < 0.0 { f64::min } else { f64::max })
}

impl Scalar {
    /// Returns the zero of an element type.
    pub fn zero(element: ElementType) -> Self {
        match element.class() {
            ElementClass::Float => Scalar::Float(0.0),
            ElementClass::Complex => Scalar::Complex(0.0, 0.0),
            _ => Scalar::Int(0),
        }
    }

    /// Returns the one of an element type.
    pub fn one(element: ElementType) -> Self {
        match element.class() {
            ElementClass::Float => Scalar::Float(1.0),
            ElementClass::Complex => Scalar::Complex(1.0, 0.0),
            _ => Scalar::Int(1),
        }
    }

    /// Returns the integer, if it is one that fits.
    pub fn as_i64(self) -> Option<i64> {
        match self {
            Scalar::Int(v) => i64::try_from(v).ok(),
            _ => None,
        }
    }

    /// Returns the value as f64: integers are converted, of a complex number the real part.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Int(v) => v as f64,
            Scalar::Float(v) | Scalar::Complex(v, _) => v,
        }
    }

    /// Returns whether it is an integer other than 0: `i1`'s true.
    pub fn is_true(self) -> bool {
        matches!(self, Scalar::Int(v) if v != 0)
    }

    /// Returns whether it is zero, of any class.
    pub fn is_zero(self) -> bool {
        matches!(self, Scalar::Int(0)) || self == Scalar::Float(0.0) || self == Scalar::Complex(0.0, 0.0)
    }

    /// Returns the nearest value of the element type: integers wrap, floats round to nearest even.
    pub fn round(self, element: ElementType) -> Self {
        match self {
            Scalar::Int(v) => Scalar::Int(wrap(v, element)),
            Scalar::Float(v) => Scalar::Float(round_float(v, element)),
            Scalar::Complex(re, im) => {
                let part = if element == ElementType::C64 { ElementType::F32 } else { ElementType::F64 };
                Scalar::Complex(round_float(re, part), round_float(im, part))
            }
        }
    }

    /// Appends the element's bytes, little-endian. The value is rounded to the type first.
    pub fn encode(self, element: ElementType, out: &mut Vec<u8>) {
        match (self, element) {
            (Scalar::Complex(re, im), ElementType::C64) => {
                out.extend((re as f32).to_le_bytes());
                out.extend((im as f32).to_le_bytes());
            }
            (Scalar::Complex(re, im), _) => {
                out.extend(re.to_le_bytes());
                out.extend(im.to_le_bytes());
            }
            (Scalar::Float(v), ElementType::F64) => out.extend(v.to_le_bytes()),
            (Scalar::Float(v), ElementType::F32) => out.extend((v as f32).to_le_bytes()),
            (Scalar::Float(v), ElementType::BF16) => out.extend(bf16::from_f32(to_odd(v)).to_le_bytes()),
            (Scalar::Float(v), ElementType::F16) => out.extend(f16::from_f32(to_odd(v)).to_le_bytes()),
            (Scalar::Float(v), _) => out.push(crate::small_float::encode(v, element)),
            (Scalar::Int(v), _) => out.extend(&wrap(v, element).to_le_bytes()[..element.bytes()]),
        }
    }

    /// Reads an element's bytes.
    pub fn decode(element: ElementType, b: &[u8]) -> Self {
        let two = || [b[0], b[1]];
        let four = |at: usize| [b[at], b[at + 1], b[at + 2], b[at + 3]];
        let eight = |at: usize| {
            let mut x = [0; 8];
            x.copy_from_slice(&b[at..at + 8]);
            x
        };
        match element {
            ElementType::F64 => Scalar::Float(f64::from_le_bytes(eight(0))),
            ElementType::F32 => Scalar::Float(f64::from(f32::from_le_bytes(four(0)))),
            ElementType::BF16 => Scalar::Float(bf16::from_le_bytes(two()).to_f64()),
            ElementType::F16 => Scalar::Float(f16::from_le_bytes(two()).to_f64()),
            ElementType::C64 => {
                Scalar::Complex(f64::from(f32::from_le_bytes(four(0))), f64::from(f32::from_le_bytes(four(4))))
            }
            ElementType::C128 => Scalar::Complex(f64::from_le_bytes(eight(0)), f64::from_le_bytes(eight(8))),
            _ if element.is_float() => Scalar::Float(crate::small_float::decode(b[0], element)),
            _ => {
                let mut x = [0; 16];
                x[..b.len().min(16)].copy_from_slice(&b[..b.len().min(16)]);
                Scalar::Int(wrap(i128::from_le_bytes(x), element))
            }
        }
    }
}

/// Returns `v` modulo the integer type's range.
pub(crate) fn wrap(v: i128, element: ElementType) -> i128 {
    let bits = element.bits().clamp(1, 127);
    let low = v & ((1i128 << bits) - 1);
    match element.class() {
        ElementClass::Signed if low >> (bits - 1) != 0 => low - (1i128 << bits),
        _ => low,
    }
}

fn round_float(v: f64, element: ElementType) -> f64 {
    match element {
        ElementType::F64 => v,
        ElementType::F32 => f64::from(v as f32),
        ElementType::BF16 => bf16::from_f32(to_odd(v)).to_f64(),
        ElementType::F16 => f16::from_f32(to_odd(v)).to_f64(),
        _ => crate::small_float::decode(crate::small_float::encode(v, element), element),
    }
}

/// Returns `v` as f32, rounded so that a second rounding to a narrower format gives the same as one rounding of `v`:
/// toward zero, with the last bit set if something was lost. (`f16::from_f64` rounds twice, or drops bits.)
#[inline(always)]
pub fn to_odd(v: f64) -> f32 {
    let near = v as f32;
    if f64::from(near) == v || v.is_nan() {
        return near;
    }
    let toward_zero = if f64::from(near).abs() > v.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(toward_zero | 1)
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(v) => write!(f, "{v}"),
            Scalar::Float(v) => write!(f, "{v:?}"),
            Scalar::Complex(re, im) => write!(f, "({re:?},{im:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_floats_round_once() {
        let tie = |ulp: i32| 1.0 + 2f64.powi(ulp - 1);
        let tiny = 2f64.powi(-45);
        for (element, ulp) in [(ElementType::F16, -10), (ElementType::BF16, -7)] {
            assert_eq!(round_float(tie(ulp), element), 1.0);
            assert_eq!(round_float(tie(ulp) + tiny, element), 1.0 + 2f64.powi(ulp));
            assert_eq!(round_float(-tie(ulp) - tiny, element), -1.0 - 2f64.powi(ulp));
            assert_eq!(round_float(tie(ulp) - tiny, element), 1.0);
            assert_eq!(round_float(1e300, element), f64::INFINITY);
            assert_eq!(round_float(1e-300, element).to_bits(), 0);
            assert_eq!(round_float(-0.0, element).to_bits(), (-0.0f64).to_bits());
            assert!(round_float(f64::NAN, element).is_nan());
        }
        assert_eq!(round_float(65519.0, ElementType::F16), 65504.0);
        assert_eq!(round_float(65520.0, ElementType::F16), f64::INFINITY);
    }

    #[test]
    fn identities_leave_every_value() {
        use ElementClass::*;
        for &element in ElementType::ALL.iter().filter(|e| matches!(e.class(), Bool | Signed | Unsigned | Float)) {
            for op in [ScalarOp::Add, ScalarOp::Max, ScalarOp::Min] {
                let Some(identity) = op.identity(element) else { panic!("{op:?} of {element:?}") };
                // Patterns of a repeated byte, and of a highest byte above ones, so that both extremes are included.
                let patterns = (0..=u8::MAX).flat_map(|b| {
                    let mut high = [0xff; 16];
                    high[element.bytes() - 1] = b;
                    [high, [b; 16]]
                });
                for value in patterns.map(|bytes| Scalar::decode(element, &bytes[..element.bytes()])) {
                    let nan = matches!(value, Scalar::Float(v) if v.is_nan());
                    // A sum over a type without zero has no identity.
                    let none = op == ScalarOp::Add && Scalar::zero(element).round(element) != Scalar::zero(element);
                    if !nan && !none {
                        assert_eq!(
                            op.apply(element, element, &[value, identity.round(element)]),
                            value,
                            "{op:?} {element:?}"
                        );
                    }
                }
            }
        }
        assert_eq!(ScalarOp::Max.identity(ElementType::F8E4M3FN), Some(Scalar::Float(-448.0)));
        assert_eq!(ScalarOp::Min.identity(ElementType::UI8), Some(Scalar::Int(255)));
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(wrap(200, ElementType::I8), -56);
        assert_eq!(wrap(-1, ElementType::UI64), u64::MAX.into());
        assert_eq!(wrap(3, ElementType::I2), -1);
        assert_eq!(wrap(2, ElementType::I1), 0);
    }
}
