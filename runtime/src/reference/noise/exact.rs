//! Finds results that need no rounding.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::{Scalar, ScalarOp};

use super::stored;

/// Returns whether `r` is the exact result of the operation on `a` and `b`.
#[inline(always)]
pub(super) fn is_exact(op: ScalarOp, a: f64, b: f64, r: f64, element: ElementType) -> bool {
    let in_f64 = match op {
        ScalarOp::Add => a + b,
        ScalarOp::Sub => a - b,
        ScalarOp::Mul => a * b,
        ScalarOp::Div => a / b,
        ScalarOp::Sqrt => a.sqrt(),
        ScalarOp::Convert => a,
        _ => return false,
    };
    // The part of the exact result that f64 loses.
    let left = || match op {
        ScalarOp::Add => two_sum(a, b),
        ScalarOp::Sub => two_sum(a, -b),
        ScalarOp::Mul => a.mul_add(b, -r),
        ScalarOp::Div => r.mul_add(b, -a),
        ScalarOp::Sqrt => r.mul_add(r, -a),
        _ => 0.0,
    };
    !r.is_finite() || r == in_f64 && (element != ElementType::F64 || left() == 0.0)
}

/// Returns the part of `a + b` that rounding loses.
fn two_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    (a - (sum - part)) + (b - part)
}

/// Returns whether all elements are powers of two, with either sign, or 0.
pub(super) fn powers_of_two(literal: &Literal) -> bool {
    let of = |v: f64| v == 0.0 || v.is_normal() && v.to_bits() & ((1 << 52) - 1) == 0;
    (0..stored(literal)).all(|i| matches!(literal.get(i), Scalar::Float(v) if of(v)))
}

/// Returns a number of which sums of products of these operands' elements are multiples.
pub(super) fn grain_of(operands: &[&Literal]) -> f64 {
    let grains = operands.iter().map(|o| grain(o)).fold((f64::INFINITY, 1.0f64), |(least, product), g| {
        (least.min(g), if g.is_finite() { product * g } else { product })
    });
    grains.0.min(grains.1)
}

/// Returns the largest power of two of which all elements are multiples; infinity if all elements are 0.
fn grain(literal: &Literal) -> f64 {
    if literal.element.epsilon() == 0.0 {
        return f64::INFINITY;
    }
    // Returns the exponent of the lowest bit that is set; `None` if there is none.
    let lowest = |v: f64| {
        let bits = v.to_bits();
        let (exponent, mantissa) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let zeros = if mantissa == 0 { 52 } else { mantissa.trailing_zeros() as i32 };
        (v != 0.0 && v.is_finite()).then(|| exponent.max(1) - 1075 + zeros)
    };
    let least = match literal.stored_floats() {
        Some(all) => all.into_iter().filter_map(lowest).min(),
        None => {
            let parts = |value: Scalar| match value {
                Scalar::Complex(re, im) => [re, im],
                other => [other.as_f64(); 2],
            };
            (0..stored(literal)).flat_map(|i| parts(literal.get(i))).filter_map(lowest).min()
        }
    };
    least.map_or(f64::INFINITY, |exponent| 2f64.powi(exponent))
}
