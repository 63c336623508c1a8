//! log and log1p in single and double precision.
//!
//! The code has no branches or tables, and is correct for every input. The argument is split into `2^k m` with
//! `sqrt(1/2) <= m < sqrt(2)`, where a minimax polynomial computes the logarithm. The comment at each polynomial states
//! its largest relative error before rounding. Results are within 1 (single) and 2 (double) units in the last place.
//! NaN, infinities, signed zeros and denormals follow IEEE 754's recommendations (clause 9.2).

use std::f64::consts::LN_2;

use super::body::{Body, Kind, V};

/// `(log(1 + f) - f + f^2 / 2) / f^3`; error: 2^-30.3 of `log(1 + f)`.
const SINGLE: &[f64] = &[
    0.3333331259,
    -0.250000096,
    0.2000212014,
    -0.1666799696,
    0.1421951976,
    -0.1240554359,
    0.1188837725,
    -0.1167605181,
    0.06746638332,
];

/// `(atanh s - s) / s^3` in `s^2`, with `s = f / (2 + f)`; error: 2^-59.4 of `atanh s`.
const DOUBLE: &[f64] = &[
    0.33333333333333676,
    0.19999999999705545,
    0.14285714371631428,
    0.1111109923798604,
    0.09091784870198631,
    0.07656951617209981,
    0.0739875390462787,
];

/// Returns `k` as a float and `f = m - 1` for positive finite `x`.
pub(super) fn parts(b: &mut Body, x: V) -> (V, V) {
    let (mantissa, smallest, root) = if x.kind() == Kind::F64 {
        (52, f64::MIN_POSITIVE, std::f64::consts::FRAC_1_SQRT_2.to_bits().cast_signed())
    } else {
        (23, f64::from(f32::MIN_POSITIVE), i64::from(std::f32::consts::FRAC_1_SQRT_2.to_bits()))
    };
    let is_denormal = b.compare_to("olt", x, smallest);
    let enlarged = b.scale(x, 2f64.powi(mantissa));
    let x = b.select(is_denormal, enlarged, x);
    let bits = b.bits(x);
    let root = b.int_like(bits, root);
    let above = b.sub_int(bits, root);
    let k = b.shift_right(above, i64::from(mantissa));
    let exponent = b.shift_left(k, i64::from(mantissa));
    let m = b.sub_int(bits, exponent);
    let m = b.float_of_bits(m);
    let f = b.offset(m, -1.0);
    let k = b.int_to_float(k);
    let lowered = b.offset(k, -f64::from(mantissa));
    (b.select(is_denormal, lowered, k), f)
}

/// Returns `k ln 2 + log(1 + f) + correction`.
fn sum(b: &mut Body, k: V, f: V, correction: Option<V>) -> V {
    let (main, mut tail, ln_2) = if f.kind() == Kind::F64 {
        let (twice_s, tail) = double_parts(b, f);
        (twice_s, tail, [LN_2, 2.3190468138462996e-17])
    } else {
        let p = b.polynomial(f, SINGLE);
        let square = b.mul(f, f);
        let cube = b.mul(square, f);
        let tail = b.mul(cube, p);
        let minus_half = b.float(Kind::F32, -0.5);
        let tail = b.fma(square, minus_half, tail);
        (f, tail, [LN_2 as f32 as f64, LN_2 - LN_2 as f32 as f64])
    };
    let low = b.float(f.kind(), ln_2[1]);
    tail = b.fma(k, low, tail);
    if let Some(correction) = correction {
        tail = b.add(tail, correction);
    }
    let sum = b.add(main, tail);
    let high = b.float(f.kind(), ln_2[0]);
    b.fma(k, high, sum)
}

/// Returns `log(1 + f) = 2 atanh s` as its first term and the rest.
fn double_parts(b: &mut Body, f: V) -> (V, V) {
    let over = b.offset(f, 2.0);
    let s = b.div(f, over);
    let z = b.mul(s, s);
    let p = b.polynomial(z, DOUBLE);
    // 2 s = f - s f, and in this form the first term is exact.
    let zp = b.mul(z, p);
    let twice = b.add(zp, zp);
    let rest = b.sub(twice, f);
    (f, b.mul(s, rest))
}

/// Replaces the result where `u`, the argument of the logarithm, is not positive and finite.
fn specials(b: &mut Body, u: V, y: V) -> V {
    let is_infinite = b.compare_to("oeq", u, f64::INFINITY);
    let y = b.select_constant(is_infinite, f64::INFINITY, y);
    let is_zero = b.compare_to("oeq", u, 0.0);
    let y = b.select_constant(is_zero, f64::NEG_INFINITY, y);
    // `u` is negative or NaN.
    let is_outside = b.compare_to("ult", u, 0.0);
    b.select_constant(is_outside, f64::NAN, y)
}

pub(super) fn log(b: &mut Body, x: V) -> V {
    let (k, f) = parts(b, x);
    let y = sum(b, k, f, None);
    specials(b, x, y)
}

pub(super) fn log1p(b: &mut Body, x: V) -> V {
    let u = b.offset(x, 1.0);
    let (k, f) = parts(b, u);
    // Adds the part that rounding 1 + x to u lost, by d log u = du / u. From 2^53 on the loss is negligible, and
    // infinity - infinity is NaN.
    let back = b.offset(u, -1.0);
    let lost = b.sub(x, back);
    let correction = b.div(lost, u);
    let y = sum(b, k, f, Some(correction));
    let y = specials(b, u, y);
    let is_zero = b.compare_to("oeq", x, 0.0);
    b.select(is_zero, x, y)
}
