//! What each [`ScalarOp`] computes: the meaning every evaluator and every kernel agrees on.
//!
//! Sources: the StableHLO specification and its interpreter; where they leave the result open, XLA: integer
//! division by zero gives -1 (all bits) and the remainder is the dividend, shifts past the width give 0 or the sign,
//! NaN converts to 0 and other floats out of range to the nearest integer.

use std::cmp::Ordering;

use crate::complex;
use crate::ir::{ElementClass, ElementType};
use crate::scalar::{Comparison, Scalar, ScalarOp, wrap};

impl Comparison {
    /// Whether it holds for operands in this order; `None`: unordered (a NaN).
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match (self, order) {
            (Comparison::Ne, None) => true,
            (_, None) => false,
            (Comparison::Eq, Some(o)) => o.is_eq(),
            (Comparison::Ne, Some(o)) => o.is_ne(),
            (Comparison::Lt, Some(o)) => o.is_lt(),
            (Comparison::Le, Some(o)) => o.is_le(),
            (Comparison::Gt, Some(o)) => o.is_gt(),
            (Comparison::Ge, Some(o)) => o.is_ge(),
        }
    }
}

impl ScalarOp {
    /// Number of operands.
    pub fn arity(self) -> usize {
        use ScalarOp::*;
        match self {
            Add | Sub | Mul | Div | Rem | Pow | Max | Min | Atan2 | And | Or | Xor | Shl | ShrArithmetic
            | ShrLogical | Complex | Compare(_) | CompareTotal(_) => 2,
            Select => 3,
            _ => 1,
        }
    }

    /// Whether `a op b = b op a` and grouping doesn't matter (up to rounding): what reductions may be made of.
    pub fn commutes(self) -> bool {
        use ScalarOp::*;
        matches!(self, Add | Mul | Max | Min | And | Or | Xor)
    }

    /// Applies it to elements of type `operand_ty` (that of the first argument), giving one of `result_ty`, rounded
    /// to it. Panics on operands the operation isn't defined for; the verifier lets none through.
    pub fn apply(self, operand_ty: ElementType, result_ty: ElementType, args: &[Scalar]) -> Scalar {
        use ScalarOp::*;
        match (self, args) {
            (Select, &[p, a, b]) => return if p.is_true() { a } else { b },
            (Compare(c), &[a, b]) => return Scalar::Int(c.holds(order(a, b)).into()),
            (CompareTotal(c), &[Scalar::Float(a), Scalar::Float(b)]) => {
                return Scalar::Int(c.holds(Some(a.total_cmp(&b))).into());
            }
            (Convert, &[a]) => return convert(a, result_ty),
            (Bitcast, &[a]) => {
                let mut bytes = Vec::with_capacity(16);
                a.encode(operand_ty, &mut bytes);
                bytes.resize(result_ty.bytes(), 0);
                return Scalar::decode(result_ty, &bytes);
            }
            (IsFinite, &[Scalar::Float(a)]) => return Scalar::Int(a.is_finite().into()),
            (Complex, &[Scalar::Float(re), Scalar::Float(im)]) => return Scalar::Complex(re, im),
            (Real, &[Scalar::Complex(re, _)]) => return Scalar::Float(re),
            (Imag, &[Scalar::Complex(_, im)]) => return Scalar::Float(im),
            (Real, &[Scalar::Float(a)]) => return Scalar::Float(a),
            (Imag, &[Scalar::Float(_)]) => return Scalar::Float(0.0),
            (Abs, &[Scalar::Complex(re, im)]) => return Scalar::Float(re.hypot(im)).round(result_ty),
            (ReducePrecision { exponent, mantissa }, &[Scalar::Float(a)]) => {
                return Scalar::Float(reduce_precision(a, operand_ty, exponent, mantissa));
            }
            _ => {}
        }
        let value = match *args {
            [Scalar::Float(a)] => float_unary(self, a).map(Scalar::Float),
            [Scalar::Float(a), Scalar::Float(b)] => float_binary(self, a, b).map(Scalar::Float),
            [Scalar::Int(a)] => int_unary(self, a, result_ty).map(Scalar::Int),
            [Scalar::Int(a), Scalar::Int(b)] => int_binary(self, a, b, result_ty).map(Scalar::Int),
            [Scalar::Complex(re, im)] => complex::unary(self, (re, im)).map(|(re, im)| Scalar::Complex(re, im)),
            [Scalar::Complex(a, b), Scalar::Complex(c, d)] => {
                complex::binary(self, (a, b), (c, d), result_ty).map(|(re, im)| Scalar::Complex(re, im))
            }
            _ => None,
        };
        match value {
            Some(v) => v.round(result_ty),
            None => unreachable!("{self:?} of {args:?} as {operand_ty:?} -> {result_ty:?}"),
        }
    }
}

/// The order of two elements; complex numbers by real, then imaginary part.
fn order(a: Scalar, b: Scalar) -> Option<Ordering> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(&b)),
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(&b),
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => match a.partial_cmp(&c)? {
            Ordering::Equal => b.partial_cmp(&d),
            o => b.partial_cmp(&d).map(|_| o),
        },
        _ => None,
    }
}

pub(crate) fn float_unary(op: ScalarOp, a: f64) -> Option<f64> {
    use ScalarOp::*;
    Some(match op {
        Neg => -a,
        Abs => a.abs(),
        Sign if a.is_nan() || a == 0.0 => a,
        Sign => a.signum(),
        Floor => a.floor(),
        Ceil => a.ceil(),
        RoundAfz => a.round(),
        RoundEven => a.round_ties_even(),
        Sqrt => a.sqrt(),
        Rsqrt => 1.0 / a.sqrt(),
        Cbrt => a.cbrt(),
        Exp => a.exp(),
        Expm1 => a.exp_m1(),
        Log => a.ln(),
        Log1p => a.ln_1p(),
        Logistic => 1.0 / (1.0 + (-a).exp()),
        Tanh => a.tanh(),
        Tan => a.tan(),
        Sin => a.sin(),
        Cos => a.cos(),
        _ => return None,
    })
}

pub(crate) fn float_binary(op: ScalarOp, a: f64, b: f64) -> Option<f64> {
    use ScalarOp::*;
    Some(match op {
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => a / b,
        Rem => a % b,
        Pow => a.powf(b),
        Atan2 => a.atan2(b),
        Max => pick(a, b, a > b || a == b && b.is_sign_negative()),
        Min => pick(a, b, a < b || a == b && a.is_sign_negative()),
        _ => return None,
    })
}

/// `a` if `first`, else `b`; a NaN among them wins.
fn pick(a: f64, b: f64, first: bool) -> f64 {
    if a.is_nan() || !b.is_nan() && first { a } else { b }
}

fn int_unary(op: ScalarOp, a: i128, ty: ElementType) -> Option<i128> {
    use ScalarOp::*;
    Some(match op {
        Neg => -a,
        Abs => a.abs(),
        Sign => a.signum(),
        Not => !a,
        Popcnt => pattern(a, ty).count_ones().into(),
        Clz => i128::from(pattern(a, ty).leading_zeros()) - i128::from(128 - ty.bits()),
        _ => return None,
    })
}

fn int_binary(op: ScalarOp, a: i128, b: i128, ty: ElementType) -> Option<i128> {
    use ScalarOp::*;
    let truth = ty.class() == ElementClass::Bool;
    // A shift by a negative amount is one past the width: amounts are read as unsigned.
    let shift = (0..i128::from(ty.bits())).contains(&b).then_some(b as u32);
    Some(match op {
        // On truth values sum and product are "or" and "and".
        Add if truth => a | b,
        Add => a + b,
        Sub => a - b,
        Mul => a.wrapping_mul(b),
        Div if b == 0 => -1,
        Div => a / b,
        Rem if b == 0 => a,
        Rem => a % b,
        Pow => int_power(a, b, ty),
        Max => a.max(b),
        Min => a.min(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Shl => shift.map_or(0, |n| a << n),
        ShrLogical => shift.map_or(0, |n| (pattern(a, ty) >> n) as i128),
        ShrArithmetic => {
            let sign = 1i128 << (ty.bits() - 1);
            let signed = ((pattern(a, ty) as i128) ^ sign) - sign;
            signed >> shift.unwrap_or(127)
        }
        _ => return None,
    })
}

/// The bits of an integer of type `ty`, without sign.
fn pattern(a: i128, ty: ElementType) -> u128 {
    a as u128 & ((1u128 << ty.bits()) - 1)
}

fn int_power(base: i128, exponent: i128, ty: ElementType) -> i128 {
    if exponent < 0 {
        // 1 and -1 have inverses among the integers; all else rounds to 0.
        return match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
    }
    let (mut result, mut square, mut left) = (1i128, base, exponent);
    while left != 0 {
        if left & 1 == 1 {
            result = wrap(result.wrapping_mul(square), ty);
        }
        square = wrap(square.wrapping_mul(square), ty);
        left >>= 1;
    }
    result
}

/// `a` as an element of another type.
fn convert(a: Scalar, ty: ElementType) -> Scalar {
    let class = ty.class();
    match (a, class) {
        (Scalar::Int(v), ElementClass::Bool) => Scalar::Int((v != 0).into()),
        (Scalar::Float(v) | Scalar::Complex(v, _), ElementClass::Bool) => Scalar::Int((v != 0.0).into()),
        (Scalar::Int(v), ElementClass::Float) => Scalar::Float(float_of(v, ty)).round(ty),
        (Scalar::Int(v), ElementClass::Complex) => {
            let part = complex::part(ty);
            Scalar::Complex(float_of(v, part), 0.0).round(ty)
        }
        (Scalar::Float(v), ElementClass::Complex) => Scalar::Complex(v, 0.0).round(ty),
        (Scalar::Complex(v, _), ElementClass::Float) => Scalar::Float(v).round(ty),
        (Scalar::Float(v) | Scalar::Complex(v, _), ElementClass::Signed | ElementClass::Unsigned) => {
            let (lo, hi) = range(ty);
            // `as` truncates, saturates and sends NaN to 0.
            Scalar::Int((v as i128).clamp(lo, hi))
        }
        _ => a.round(ty),
    }
}

/// Smallest and largest value of an integer type.
fn range(ty: ElementType) -> (i128, i128) {
    match ty.class() {
        ElementClass::Signed => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
        _ => (0, (1i128 << ty.bits()) - 1),
    }
}

/// An integer as f64, such that rounding it to `ty` rounds only once: bits an f64 can't hold are folded into its
/// last one, save for f64 itself.
fn float_of(v: i128, ty: ElementType) -> f64 {
    let magnitude = v.unsigned_abs();
    let extra = (128 - magnitude.leading_zeros()).saturating_sub(53);
    if extra == 0 || ty == ElementType::F64 {
        return v as f64;
    }
    let lost = magnitude & ((1 << extra) - 1) != 0;
    let kept = (magnitude >> extra | u128::from(lost)) as f64 * 2f64.powi(extra as i32);
    if v < 0 { -kept } else { kept }
}

/// Rounds to `mantissa` bits, then sends what `exponent` bits can't hold to infinity or zero.
fn reduce_precision(a: f64, ty: ElementType, exponent: u8, mantissa: u8) -> f64 {
    if a.is_nan() {
        return if mantissa > 0 { a } else { f64::INFINITY };
    }
    // (all bits, mantissa bits); narrower formats are treated as the f64 of their value.
    let (width, own) = match ty {
        ElementType::F32 => (32u32, 23u32),
        ElementType::F16 => (16, 10),
        ElementType::BF16 => (16, 7),
        _ => (64, 52),
    };
    let exact = if width == 64 { ElementType::F64 } else { ty };
    let mut bytes = Vec::with_capacity(8);
    Scalar::Float(a).encode(exact, &mut bytes);
    let mut bits = bytes.iter().rev().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
    let cut = own.saturating_sub(mantissa.into());
    if cut > 0 {
        let last = 1u64 << cut;
        let bias = (last >> 1) - 1 + (bits >> cut & 1);
        bits = bits.wrapping_add(bias) & !(last - 1);
    }
    let own_exponent = width - own - 1;
    if u32::from(exponent) < own_exponent {
        let center = (1u64 << (own_exponent - 1)) - 1;
        let reach = (1u64 << (exponent.max(1) - 1)) - 1;
        let at = bits >> own & ((1 << own_exponent) - 1);
        let sign = bits & 1 << (width - 1);
        if at > center + reach {
            bits = sign | ((1u64 << own_exponent) - 1) << own;
        } else if at <= center - reach {
            bits = sign;
        }
    }
    match Scalar::decode(exact, &bits.to_le_bytes()[..exact.bytes()]) {
        Scalar::Float(v) => match Scalar::Float(v).round(ty) {
            Scalar::Float(v) => v,
            _ => v,
        },
        _ => a,
    }
}
