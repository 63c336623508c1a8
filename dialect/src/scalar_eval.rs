//! The computation of each [`ScalarOp`]: the meaning that all evaluators and kernels implement.
//!
//! Sources: the StableHLO specification and its interpreter; if they leave the result open, XLA: integer division by
//! zero gives -1 (all bits) and the remainder is the dividend, shifts beyond the width give 0 or the sign, NaN converts
//! to 0 and other floats out of range to the nearest integer.

use std::cmp::Ordering;

use crate::complex;
use crate::ir::{ElementClass, ElementType};
use crate::scalar::{Comparison, Scalar, ScalarOp, wrap};

impl Comparison {
    /// Returns whether it holds for operands in this order; `None`: unordered (a NaN).
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
    /// Returns the number of operands.
    pub fn arity(self) -> usize {
        use ScalarOp::*;
        match self {
            Add | Sub | Mul | Div | Rem | Pow | Max | Min | Atan2 | And | Or | Xor | Shl | ShrArithmetic
            | ShrLogical | Complex | Compare(_) | CompareTotal(_) => 2,
            Select | MulAdd => 3,
            _ => 1,
        }
    }

    /// Returns whether `a op b = b op a` and grouping doesn't matter (up to rounding): reductions may use only such
    /// operations.
    pub fn commutes(self) -> bool {
        use ScalarOp::*;
        matches!(self, Add | Mul | Max | Min | And | Or | Xor)
    }

    /// Applies it to elements of type `operand_ty` (that of the first argument); the result has type `result_ty` and is
    /// rounded to it. Panics on operands for which the operation is undefined; the verifier rejects those.
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
            [Scalar::Float(a), Scalar::Float(b), Scalar::Float(c)] if self == MulAdd => {
                Some(Scalar::Float(a.mul_add(b, c)))
            }
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

/// Returns the order of two elements; complex numbers are ordered by real, then imaginary part.
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
        // This exponential can't overflow, so that small results have full precision.
        Logistic if a < 0.0 => a.exp() / (1.0 + a.exp()),
        Logistic => 1.0 / (1.0 + (-a).exp()),
        Tanh => tanh(a),
        Tan => a.tan(),
        Sin => a.sin(),
        Cos => a.cos(),
        _ => return None,
    })
}

/// Computes tanh more accurately than the C library.
fn tanh(a: f64) -> f64 {
    let t = (2.0 * a.abs()).exp_m1();
    let below = t + 2.0;
    let magnitude = if a.abs() < 0.5 {
        // Corrects the rounding error of the divisor.
        let (quotient, lost) = (t / below, t - (below - 2.0));
        quotient - quotient * (lost / below)
    } else {
        1.0 - 2.0 / below
    };
    magnitude.copysign(a)
}

#[inline]
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

/// Returns `a` if `first`, otherwise `b`; a NaN takes precedence.
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
    // A shift by a negative amount is a shift beyond the width, because amounts are unsigned.
    let shift = (0..i128::from(ty.bits())).contains(&b).then_some(b as u32);
    Some(match op {
        // For booleans, "or" is the sum and "and" the product.
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

/// Returns the bits of an integer of type `ty`, without sign.
fn pattern(a: i128, ty: ElementType) -> u128 {
    a as u128 & ((1u128 << ty.bits()) - 1)
}

fn int_power(base: i128, exponent: i128, ty: ElementType) -> i128 {
    if exponent < 0 {
        // Only 1 and -1 have integer inverses; all others round to 0.
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

/// Converts `a` to an element of another type.
fn convert(a: Scalar, ty: ElementType) -> Scalar {
    let class = ty.class();
    match (a, class) {
        (Scalar::Int(v), ElementClass::Bool) => Scalar::Int((v != 0).into()),
        (Scalar::Float(v) | Scalar::Complex(v, _), ElementClass::Bool) => Scalar::Int((v != 0.0).into()),
        (Scalar::Int(v), ElementClass::Float) => Scalar::Float(float_of(v, ty)).round(ty),
        (Scalar::Int(v), ElementClass::Complex) => {
            let part = ty.part();
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

/// Returns the smallest and largest value of an integer type.
fn range(ty: ElementType) -> (i128, i128) {
    match ty.class() {
        ElementClass::Signed => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
        _ => (0, (1i128 << ty.bits()) - 1),
    }
}

/// Returns an integer as f64, such that rounding it to `ty` rounds only once: bits beyond f64's precision are folded
/// into the last bit, except for f64 itself.
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

/// Rounds to `mantissa` bits, then rounds values beyond the range of `exponent` bits to infinity or zero.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{BF16, C64, F16, F32, F64, I1, I8, I32, UI8, UI64};

    fn int(op: ScalarOp, ty: ElementType, args: &[i128]) -> i128 {
        let args: Vec<Scalar> = args.iter().map(|&v| Scalar::Int(v)).collect();
        match op.apply(ty, ty, &args) {
            Scalar::Int(v) => v,
            other => panic!("{other:?}"),
        }
    }

    fn float(op: ScalarOp, args: &[f64]) -> f64 {
        let args: Vec<Scalar> = args.iter().map(|&v| Scalar::Float(v)).collect();
        op.apply(F32, F32, &args).as_f64()
    }

    #[test]
    fn integers() {
        use ScalarOp::*;
        let table: &[(ScalarOp, ElementType, &[i128], i128)] = &[
            (Add, I8, &[127, 1], -128),
            (Sub, UI8, &[0, 1], 255),
            (Mul, UI64, &[u64::MAX as i128, u64::MAX as i128], 1),
            (Div, I32, &[-7, 2], -3),
            (Div, I32, &[5, 0], -1),
            (Div, UI8, &[5, 0], 255),
            (Div, I8, &[-128, -1], -128),
            (Rem, I32, &[-7, 2], -1),
            (Rem, I32, &[5, 0], 5),
            (Rem, I8, &[-128, -1], 0),
            (Pow, I32, &[3, 4], 81),
            (Pow, I32, &[2, -1], 0),
            (Pow, I32, &[-1, -3], -1),
            (Pow, I8, &[2, 7], -128),
            (Pow, UI8, &[3, 255], 171),
            (Shl, I8, &[1, 7], -128),
            (Shl, I8, &[1, 8], 0),
            (Shl, I8, &[1, -1], 0),
            (ShrLogical, I8, &[-1, 1], 127),
            (ShrLogical, I8, &[-1, 9], 0),
            (ShrArithmetic, I8, &[-128, 1], -64),
            (ShrArithmetic, I8, &[-128, 100], -1),
            (ShrArithmetic, UI8, &[128, 1], 192),
            (ShrArithmetic, I8, &[64, 100], 0),
            (Popcnt, I8, &[-1], 8),
            (Clz, I8, &[1], 7),
            (Clz, UI64, &[0], 64),
            (Not, UI8, &[1], 254),
            (Not, I1, &[1], 0),
            (Add, I1, &[1, 1], 1),
            (Mul, I1, &[1, 0], 0),
            (Abs, I8, &[-128], -128),
            (Sign, I32, &[-9], -1),
            (Max, UI8, &[200, 100], 200),
        ];
        for &(op, ty, args, want) in table {
            assert_eq!(int(op, ty, args), want, "{op:?} {ty:?} {args:?}");
        }
    }

    #[test]
    fn floats() {
        use ScalarOp::*;
        assert!(float(Max, &[f64::NAN, 1.0]).is_nan() && float(Min, &[1.0, f64::NAN]).is_nan());
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert!(float(Max, &[a, b]).is_sign_positive() && float(Min, &[a, b]).is_sign_negative());
        }
        assert_eq!(float(RoundAfz, &[-2.5]), -3.0);
        assert_eq!(float(RoundEven, &[-2.5]), -2.0);
        assert_eq!(float(Rem, &[-7.5, 2.0]), -1.5);
        assert_eq!(float(Sign, &[-0.0]).to_bits(), (-0.0f64).to_bits());
        assert_eq!(float(Add, &[16_777_216.0, 1.0]), 16_777_216.0);
        assert_eq!(float(Logistic, &[0.0]), 0.5);
        assert_eq!(float(Rsqrt, &[4.0]), 0.5);
        assert_eq!(float(Cbrt, &[-27.0]), -3.0);
    }

    #[test]
    fn comparisons() {
        let nan = [Scalar::Float(f64::NAN), Scalar::Float(1.0)];
        for (c, want) in [(Comparison::Eq, 0), (Comparison::Ne, 1), (Comparison::Lt, 0), (Comparison::Ge, 0)] {
            assert!(ScalarOp::Compare(c).apply(F32, I1, &nan) == Scalar::Int(want));
        }
        let total = |a: f64, b: f64| {
            ScalarOp::CompareTotal(Comparison::Lt).apply(F32, I1, &[Scalar::Float(a), Scalar::Float(b)])
        };
        for (a, b) in [(-0.0, 0.0), (f64::INFINITY, f64::NAN), (-f64::NAN, f64::NEG_INFINITY)] {
            assert!(total(a, b) == Scalar::Int(1) && total(b, a) == Scalar::Int(0), "{a} {b}");
        }
    }

    #[test]
    fn conversions() {
        let to = |v: Scalar, ty| convert(v, ty);
        let table: &[(Scalar, ElementType, Scalar)] = &[
            (Scalar::Float(-1.9), I32, Scalar::Int(-1)),
            (Scalar::Float(1e10), I32, Scalar::Int(i32::MAX.into())),
            (Scalar::Float(-5.0), UI8, Scalar::Int(0)),
            (Scalar::Float(f64::NAN), I32, Scalar::Int(0)),
            (Scalar::Float(0.5), I1, Scalar::Int(1)),
            (Scalar::Int(256), UI8, Scalar::Int(0)),
            (Scalar::Int(256), I1, Scalar::Int(1)),
            (Scalar::Int(-1), UI8, Scalar::Int(255)),
            (Scalar::Complex(2.0, 3.0), F32, Scalar::Float(2.0)),
            (Scalar::Float(2.0), C64, Scalar::Complex(2.0, 0.0)),
            // Rounds once: half an ulp of the narrow type plus a small amount, which an f64 can't represent together.
            (Scalar::Int((1 << 60) + (1 << 36) + 1), F32, Scalar::Float(((1u64 << 60) + (1 << 37)) as f64)),
            (Scalar::Int((1 << 60) + (1 << 52) + 1), BF16, Scalar::Float(((1u64 << 60) + (1 << 53)) as f64)),
            (Scalar::Int(65519), F16, Scalar::Float(65504.0)),
            (Scalar::Int(i128::from(u64::MAX)), F64, Scalar::Float(u64::MAX as f64)),
        ];
        for &(v, ty, want) in table {
            assert!(to(v, ty) == want, "{v:?} to {ty:?}: {:?}, not {want:?}", to(v, ty));
        }
    }

    #[test]
    fn reduced_precision() {
        let reduce = |v: f64, e, m| reduce_precision(v, F32, e, m);
        assert_eq!(reduce(1.0 + 2f64.powi(-10), 8, 10), 1.0 + 2f64.powi(-10));
        assert_eq!(reduce(1.0 + 2f64.powi(-11), 8, 10), 1.0);
        assert_eq!(reduce(1.0 + 3.0 * 2f64.powi(-11), 8, 10), 1.0 + 2f64.powi(-9));
        assert_eq!(reduce(65536.0, 5, 10), f64::INFINITY);
        assert_eq!(reduce(-65536.0, 5, 10), f64::NEG_INFINITY);
        assert_eq!(reduce(-1e-6, 5, 10).to_bits(), (-0.0f64).to_bits());
        assert!(reduce(f64::NAN, 5, 10).is_nan());
        assert_eq!(reduce_precision(1.0 + 2f64.powi(-40), F64, 11, 30), 1.0);
    }

    #[test]
    fn bits() {
        let bits = ScalarOp::Bitcast.apply(F32, I32, &[Scalar::Float(-0.0)]);
        assert!(bits == Scalar::Int(i32::MIN.into()));
        assert!(ScalarOp::Bitcast.apply(I32, F32, &[Scalar::Int(0x3F80_0000)]) == Scalar::Float(1.0));
    }
}
