//! exp, expm1 and tanh in single and double precision.
//!
//! Without branches or tables, for every input. The argument is reduced to `|r| <= ln 2 / 2`, where a minimax
//! polynomial gives `e^r - 1`; the comment at each polynomial names its largest relative error before rounding. Results
//! are within 1 (exp), 1.5 (expm1) and 2.6 (tanh) units in the last place. NaN, infinities, signed zeros and denormals
//! follow IEEE 754's recommendations (clause 9.2).

use std::f64::consts::{LN_2, LOG2_E};

use super::body::{Body, Kind, V};

/// What differs between the precisions.
struct Precision {
    /// ln 2 rounded, and the rounding error.
    ln_2: [f64; 2],
    /// `(e^r - 1 - r) / r^2` on `|r| <= ln 2 / 2`.
    tail: &'static [f64],
    /// Below the first bound, exp is 0; above the second, infinite.
    exp_bounds: (f64, f64),
    /// Below, expm1 rounds to -1.
    expm1_bound: f64,
    /// From here on, tanh rounds to 1.
    tanh_bound: f64,
}

const SINGLE: Precision = Precision {
    ln_2: [LN_2 as f32 as f64, LN_2 - LN_2 as f32 as f64],
    // 2^-31.9 of e^r - 1.
    tail: &[0.5000000044, 0.1666666637, 0.04166636091, 8.333389368e-3, 1.394062723e-3, 1.984587819e-4],
    exp_bounds: (-104.0, 89.0),
    expm1_bound: -20.0,
    tanh_bound: 10.0,
};

const DOUBLE: Precision = Precision {
    ln_2: [LN_2, 2.3190468138462996e-17],
    // 2^-61.7 of e^r - 1.
    tail: &[
        0.5,
        0.16666666666666677,
        0.04166666666666651,
        0.008333333333321691,
        0.0013888888888962372,
        1.9841269885966244e-4,
        2.4801587172536282e-5,
        2.7557244373868643e-6,
        2.7557402644119793e-7,
        2.5108978993141634e-8,
        2.087532967966573e-9,
    ],
    exp_bounds: (-746.0, 710.0),
    expm1_bound: -40.0,
    tanh_bound: 22.0,
};

fn precision(x: V) -> &'static Precision {
    if x.kind() == Kind::F64 { &DOUBLE } else { &SINGLE }
}

/// `x = n ln 2 + r` with `|r| <= ln 2 / 2`; gives `n` as an integer and `e^r - 1`.
fn parts(b: &mut Body, x: V) -> (V, V) {
    let n = b.scale(x, LOG2_E);
    let n = b.round(n);
    let minus_n = b.neg(n);
    let mut r = x;
    for part in precision(x).ln_2 {
        let part = b.float(x.kind(), part);
        r = b.fma(minus_n, part, r);
    }
    let p = b.polynomial(r, precision(x).tail);
    let square = b.mul(r, r);
    let tail = b.fma(square, p, r);
    (b.small_int(n), tail)
}

pub(super) fn exp(b: &mut Body, x: V) -> V {
    let (low, high) = precision(x).exp_bounds;
    let x = b.clamp(x, low, high);
    let (n, tail) = parts(b, x);
    let mantissa = b.offset(tail, 1.0);
    // Multiplying by two factors reaches denormals and infinity; a single power of two would exceed the range of
    // exponents.
    let half = b.shift_right(n, 1);
    let rest = b.sub_int(n, half);
    let first = b.power_of_two(half);
    let second = b.power_of_two(rest);
    let scaled = b.mul(mantissa, first);
    b.mul(scaled, second)
}

pub(super) fn expm1(b: &mut Body, x: V) -> V {
    let high = precision(x).exp_bounds.1;
    let bounded = b.clamp(x, precision(x).expm1_bound, high);
    let y = expm1_bounded(b, bounded);
    let is_zero = b.compare_to("oeq", x, 0.0);
    b.select(is_zero, x, y)
}

/// expm1 between the lower bound of the exponents and `exp_bounds.1`.
fn expm1_bounded(b: &mut Body, x: V) -> V {
    let (n, tail) = parts(b, x);
    // 2^n e^r - 1 = 2 (2^(n-1) tail + (2^(n-1) - 1/2)), with n - 1 to stay in range for the largest results.
    let one = b.int_like(n, 1);
    let exponent = b.sub_int(n, one);
    let power = b.power_of_two(exponent);
    let base = b.offset(power, -0.5);
    let half = b.fma(power, tail, base);
    b.add(half, half)
}

pub(super) fn tanh(b: &mut Body, x: V) -> V {
    // With t = e^(-2|x|) - 1: tanh |x| = -t / (2 + t).
    let bound = precision(x).tanh_bound;
    let magnitude = b.abs(x);
    let is_far = b.compare_to("ogt", magnitude, bound);
    let magnitude = b.select_constant(is_far, bound, magnitude);
    let argument = b.scale(magnitude, -2.0);
    let t = expm1_bounded(b, argument);
    let divisor = b.offset(t, 2.0);
    let quotient = b.div(t, divisor);
    b.copysign(quotient, x)
}
