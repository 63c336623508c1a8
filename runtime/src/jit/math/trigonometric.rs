//! sin, cos, tan and atan2 in single precision.
//!
//! The code has no branches or tables, and is correct for every input. Angles are reduced in double precision against
//! enough bits of 2/pi for the largest float. The comment at each polynomial states its largest relative error before
//! rounding. Results are within 1.6 units in the last place, those of tan within 0.6. NaN, infinities and signed zeros
//! follow IEEE 754's recommendations (clause 9.2).

use std::f64::consts::{FRAC_PI_2, PI};

use super::body::{Body, Kind, V};

/// Splits `x = (q + f) pi / 2` with `|f| <= 1/2`. Returns `f pi / 2` in f64, and `q` modulo 4 in the low bits of an
/// i32. Both are exact enough for every finite `x`.
fn reduce_quadrant(b: &mut Body, x: V) -> (V, V) {
    // 2/pi modulo 4, and 2^53 * 2/pi modulo 4, each split into three terms of at most 29 bits and a rest. An f32 has 24
    // bits, so products with the terms are exact in f64 and their integer parts can be dropped without error. The
    // second set is for
    // |x| >= 2^77, scaled down by 2^53.
    const SMALL: [f64; 4] = [
        f64::from_bits(0x3FE4_5F30_6C00_0000),
        f64::from_bits(0x3E2C_9C88_2A00_0000),
        f64::from_bits(0x3C44_FE13_A800_0000),
        f64::from_bits(0x3A9F_47D4_D377_036E),
    ];
    const LARGE: [f64; 4] = [
        f64::from_bits(0x4005_29FC_2700_0000),
        f64::from_bits(0x3E25_F47D_4C00_0000),
        f64::from_bits(0x3C63_7703_6D00_0000),
        f64::from_bits(0x3A91_4ACC_9E21_C821),
    ];
    let wide = b.widen(x);
    let magnitude = b.abs(wide);
    let is_large = b.compare_to("oge", magnitude, 2f64.powi(77));
    let reduced = b.scale(wide, 2f64.powi(-53));
    let wide = b.select(is_large, reduced, wide);
    let piece = |b: &mut Body, index: usize| {
        let small = b.float(Kind::F64, SMALL[index]);
        let word = b.select_constant(is_large, LARGE[index], small);
        b.mul(wide, word)
    };
    let (t0, t1, t2, t3) = (piece(b, 0), piece(b, 1), piece(b, 2), piece(b, 3));
    let (n0, n1, n2) = (b.round(t0), b.round(t1), b.round(t2));
    let (f0, f1, f2) = (b.sub(t0, n0), b.sub(t1, n1), b.sub(t2, n2));
    let f = b.add(f2, t3);
    let f = b.add(f1, f);
    let f = b.add(f0, f);
    let n3 = b.round(f);
    let f = b.sub(f, n3);
    // Only the quadrant modulo 4 is needed. The parts can be far larger than the integers of any type.
    let modulo_four = |b: &mut Body, n: V| {
        let quarter = b.scale(n, 0.25);
        let quarter = b.round(quarter);
        let minus_four = b.float(Kind::F64, -4.0);
        b.fma(quarter, minus_four, n)
    };
    let n12 = b.add(n1, n2);
    let (q0, q12) = (modulo_four(b, n0), modulo_four(b, n12));
    let q = b.add(q0, q12);
    let q = b.add(q, n3);
    let q = b.small_int(q);
    let q = b.low_half(q);
    (b.scale(f, FRAC_PI_2), q)
}

/// Returns sin and cos of `|r| <= pi / 4`.
fn sin_cos(b: &mut Body, r: V) -> (V, V) {
    let z = b.mul(r, r);
    // (sin r - r) / r^3, error: 2^-37 of sin r; and (cos r - 1 + r^2 / 2) / r^4, error: 2^-33 of cos r.
    let p = b.polynomial(z, &[-0.1666666664, 8.333329299e-3, -1.983931031e-4, 2.718102851e-6]);
    let zr = b.mul(z, r);
    let sin = b.fma(zr, p, r);
    let p = b.polynomial(z, &[0.04166664565, -1.388731466e-3, 2.443297123e-5]);
    let p = b.mul(z, p);
    let p = b.offset(p, -0.5);
    let one = b.float(r.kind(), 1.0);
    let cos = b.fma(z, p, one);
    (sin, cos)
}

/// Returns sin of the angle `x` plus `quarter_turns` quadrants.
fn sin_shifted(b: &mut Body, x: V, quarter_turns: i64) -> V {
    let (r, q) = reduce_quadrant(b, x);
    let r = b.narrow(r);
    let (sin, cos) = sin_cos(b, r);
    let turns = b.int(Kind::I32, quarter_turns);
    let q = b.add_int(q, turns);
    let is_odd = b.any_bit(q, 1);
    let y = b.select(is_odd, cos, sin);
    let two = b.int(Kind::I32, 2);
    let sign = b.and(q, two);
    let sign = b.shift_left(sign, 30);
    let bits = b.bits(y);
    let bits = b.xor(bits, sign);
    b.float_of_bits(bits)
}

pub(super) fn sin(b: &mut Body, x: V) -> V {
    let y = sin_shifted(b, x, 0);
    let is_zero = b.compare_to("oeq", x, 0.0);
    b.select(is_zero, x, y)
}

pub(super) fn cos(b: &mut Body, x: V) -> V {
    sin_shifted(b, x, 1)
}

pub(super) fn tan(b: &mut Body, x: V) -> V {
    let (r, q) = reduce_quadrant(b, x);
    let (sin, cos) = sin_cos(b, r);
    let is_odd = b.any_bit(q, 1);
    let minus_cos = b.neg(cos);
    let numerator = b.select(is_odd, minus_cos, sin);
    let denominator = b.select(is_odd, sin, cos);
    // The computation is in f64 up to here, because the errors of both would add up.
    let y = b.div(numerator, denominator);
    let y = b.narrow(y);
    let is_zero = b.compare_to("oeq", x, 0.0);
    b.select(is_zero, x, y)
}

pub(super) fn atan2(b: &mut Body, y: V, x: V) -> V {
    let (ay, ax) = (b.abs(y), b.abs(x));
    let is_steep = b.compare("ogt", ay, ax);
    let small = b.select(is_steep, ax, ay);
    let large = b.select(is_steep, ay, ax);
    let t = b.div(small, large);
    // 0 / 0 is replaced by 0, infinity / infinity by 1.
    let is_origin = b.compare_to("oeq", large, 0.0);
    let t = b.select_constant(is_origin, 0.0, t);
    let is_infinite = b.compare_to("oeq", small, f64::INFINITY);
    let t = b.select_constant(is_infinite, 1.0, t);
    let z = b.mul(t, t);
    // (atan t - t) / t^3 on 0 <= t <= 1; error: 2^-28.5 of atan t.
    let p = b.polynomial(
        z,
        &[
            -0.3333329909,
            0.1999854829,
            -0.1426424176,
            0.1095218616,
            -0.08403451406,
            0.05795761131,
            -0.03117786291,
            0.01091461462,
            -1.793623633e-3,
        ],
    );
    let zt = b.mul(z, t);
    let angle = b.fma(zt, p, t);
    // Reflects at the diagonal, then at the vertical axis, with the low parts of pi / 2 and pi.
    let reflected = b.float(Kind::F32, FRAC_PI_2 - f64::from(FRAC_PI_2 as f32));
    let reflected = b.sub(reflected, angle);
    let reflected = b.offset(reflected, FRAC_PI_2);
    let angle = b.select(is_steep, reflected, angle);
    let reflected = b.float(Kind::F32, PI - f64::from(PI as f32));
    let reflected = b.sub(reflected, angle);
    let reflected = b.offset(reflected, PI);
    let x_bits = b.bits(x);
    let is_left = b.any_bit(x_bits, i64::from(i32::MIN));
    let angle = b.select(is_left, reflected, angle);
    let angle = b.copysign(angle, y);
    let is_nan = b.compare("uno", x, y);
    b.select_constant(is_nan, f64::NAN, angle)
}
