//! powf and cbrt in single precision, by logarithm and exponential in double precision.
//!
//! The code has no branches or tables, and is correct for every input, within 0.6 units in the last place. NaN,
//! infinities, signed zeros and denormals follow IEEE 754's recommendations (clause 9.2).

use std::f64::consts::LOG2_E;

use super::body::{Body, Kind, V};

/// Returns log2 of the magnitude of a finite f64 that was converted from f32, to about 2^-44.
fn wide_log2(b: &mut Body, magnitude: V) -> V {
    let bits = b.bits(magnitude);
    let root = b.int(Kind::I64, std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64);
    let above = b.sub_int(bits, root);
    let k = b.shift_right(above, 52);
    let exponent = b.shift_left(k, 52);
    let mantissa = b.sub_int(bits, exponent);
    let m = b.float_of_bits(mantissa);
    // log m = 2 atanh s with s = (m - 1) / (m + 1).
    let below = b.offset(m, -1.0);
    let over = b.offset(m, 1.0);
    let s = b.div(below, over);
    let z = b.mul(s, s);
    // (atanh s - s) / s^3 on sqrt(1/2) <= m <= sqrt(2); error: 2^-44.9 of atanh s.
    let p = b.polynomial(
        z,
        &[0.3333333333792309, 0.1999999780236118, 0.14286055570053838, 0.1108804969332719, 0.09792762347304383],
    );
    let zs = b.mul(z, s);
    let atanh = b.fma(zs, p, s);
    let k = b.int_to_float(k);
    let twice = b.float(Kind::F64, 2.0 * LOG2_E);
    b.fma(atanh, twice, k)
}

/// Returns 2^z rounded to f32, for any z.
fn narrow_exp2(b: &mut Body, z: V) -> V {
    let z = b.clamp(z, -160.0, 130.0);
    let n = b.round(z);
    let f = b.sub(z, n);
    // 2^f on |f| <= 1/2; error: 2^-40.2.
    let p = b.polynomial(
        f,
        &[
            0.9999999999997619,
            0.6931471805464928,
            0.24022650698885112,
            0.0555041093942861,
            0.009618128542186636,
            0.0013333451977791191,
            0.0001540385200477354,
            1.5309760141257022e-5,
            1.3175842434755573e-6,
        ],
    );
    let n = b.small_int(n);
    let power = b.power_of_two(n);
    let y = b.mul(p, power);
    b.narrow(y)
}

pub(super) fn powf(b: &mut Body, x: V, y: V) -> V {
    let (wide_x, wide_y) = (b.widen(x), b.widen(y));
    let magnitude = b.abs(wide_x);
    let log2 = wide_log2(b, magnitude);
    let is_zero = b.compare_to("oeq", x, 0.0);
    let log2 = b.select_constant(is_zero, f64::NEG_INFINITY, log2);
    let ax = b.abs(x);
    let is_infinite = b.compare_to("oeq", ax, f64::INFINITY);
    let log2 = b.select_constant(is_infinite, f64::INFINITY, log2);
    let z = b.mul(wide_y, log2);
    let result = narrow_exp2(b, z);
    // An odd integer is an integer whose half isn't one. Every f32 from 2^24 on is even.
    let whole = b.round(y);
    let is_integer = b.compare("oeq", whole, y);
    let half = b.scale(y, 0.5);
    let half_whole = b.round(half);
    let half_fraction = b.compare("one", half_whole, half);
    let is_odd = b.and(is_integer, half_fraction);
    let signed = b.copysign(result, x);
    let result = b.select(is_odd, signed, result);
    let is_negative = b.compare_to("olt", x, 0.0);
    let finite = b.compare_to("one", ax, f64::INFINITY);
    let is_fraction = b.compare("one", whole, y);
    let is_undefined = b.and(is_negative, is_fraction);
    let is_undefined = b.and(is_undefined, finite);
    let result = b.select_constant(is_undefined, f64::NAN, result);
    let is_nan = b.compare("uno", x, y);
    let result = b.select_constant(is_nan, f64::NAN, result);
    // These powers are 1: 1 to any power, any number to the power of 0, and -1 to an infinite power.
    let is_one = b.compare_to("oeq", x, 1.0);
    let no_power = b.compare_to("oeq", y, 0.0);
    let is_trivial = b.or(is_one, no_power);
    let is_minus_one = b.compare_to("oeq", x, -1.0);
    let ay = b.abs(y);
    let endless = b.compare_to("oeq", ay, f64::INFINITY);
    let is_reflection = b.and(is_minus_one, endless);
    let is_trivial = b.or(is_trivial, is_reflection);
    b.select_constant(is_trivial, 1.0, result)
}

pub(super) fn cbrt(b: &mut Body, x: V) -> V {
    let wide = b.widen(x);
    let magnitude = b.abs(wide);
    let log2 = wide_log2(b, magnitude);
    let third = b.scale(log2, 1.0 / 3.0);
    let root = narrow_exp2(b, third);
    let root = b.copysign(root, x);
    // Zeros, infinities and NaN are their own roots.
    let ax = b.abs(x);
    let is_ordinary = b.compare_to("olt", ax, f64::INFINITY);
    let is_nonzero = b.compare_to("ogt", ax, 0.0);
    let is_ordinary = b.and(is_ordinary, is_nonzero);
    b.select(is_ordinary, root, x)
}
