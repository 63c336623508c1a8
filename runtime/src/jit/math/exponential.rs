//! exp, expm1 and tanh in single and double precision.
//!
//! The code has no branches or tables, and is correct for every input. The argument is reduced to `|r| <= ln 2 / 2`,
//! where a minimax polynomial computes `e^r - 1`. The comment at each polynomial states its largest relative error
//! before rounding. Results are within 1 (exp), 1.5 (expm1) and 2 (tanh) units in the last place. NaN, infinities,
//! signed zeros and denormals follow IEEE 754's recommendations (clause 9.2).

use std::f64::consts::{LN_2, LOG2_E};

use super::body::{Body, Kind, V};

/// The parameters of a precision.
struct Precision {
    /// ln 2 rounded, and the rounding error.
    ln_2: [f64; 2],
    /// `(e^r - 1 - r) / r^2` on `|r| <= ln 2 / 2`.
    tail: &'static [f64],
    /// Below the first bound, exp is 0; above the second, it is infinite.
    exp_bounds: (f64, f64),
    /// Below this bound, expm1 rounds to -1.
    expm1_bound: f64,
    /// `(tanh x - x) / x^3` in `x^2`, on `|x| <= 0.8`.
    tanh: &'static [f64],
    /// From this bound on, tanh rounds to 1.
    tanh_bound: f64,
}

const SINGLE: Precision = Precision {
    ln_2: [LN_2 as f32 as f64, LN_2 - LN_2 as f32 as f64],
    // Error: 2^-31.9 of e^r - 1.
    tail: &[0.5000000044, 0.1666666637, 0.04166636091, 8.333389368e-3, 1.394062723e-3, 1.984587819e-4],
    exp_bounds: (-104.0, 89.0),
    expm1_bound: -20.0,
    // Error: 2^-30.2 of tanh x.
    tanh: &[
        -0.333333332,
        0.1333331297,
        -0.05396303206,
        0.02181874752,
        -0.008624014071,
        0.002991119236,
        -0.0006366538789,
    ],
    tanh_bound: 10.0,
};

const DOUBLE: Precision = Precision {
    ln_2: [LN_2, 2.3190468138462996e-17],
    // Error: 2^-61.7 of e^r - 1.
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
    // Error: 2^-59.0 of tanh x.
    tanh: &[
        -0.3333333333333333,
        0.13333333333333164,
        -0.05396825396807994,
        0.021869488529107573,
        -0.0088632353806276,
        0.0035921261369283404,
        -0.0014558186617511805,
        0.0005899385757485394,
        -0.00023877620260311905,
        9.591526194090723e-05,
        -3.724717184106831e-05,
        1.2978681166492813e-05,
        -3.45795714918982e-06,
        4.983949582696319e-07,
    ],
    tanh_bound: 22.0,
};

fn precision(x: V) -> &'static Precision {
    if x.kind() == Kind::F64 { &DOUBLE } else { &SINGLE }
}

/// Splits `x = n ln 2 + r` with `|r| <= ln 2 / 2`. Returns `n` as an integer, and `e^r - 1`.
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
    // Multiplies by two factors, which reaches denormals and infinity. A single power of two would exceed the range of
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

/// Computes expm1 between the lower bound of the exponents and `exp_bounds.1`.
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
    let magnitude = b.abs(x);
    // A polynomial near 0; elsewhere 1 - 2 / (e^(2|x|) + 1), where less than half of the quotient's error remains.
    let square = b.mul(x, x);
    let p = b.polynomial(square, precision(x).tanh);
    let cube = b.mul(square, magnitude);
    let near = b.fma(cube, p, magnitude);
    let bound = precision(x).tanh_bound;
    let is_far = b.compare_to("ogt", magnitude, bound);
    let bounded = b.select_constant(is_far, bound, magnitude);
    let twice = b.add(bounded, bounded);
    let (n, tail) = parts(b, twice);
    let power = b.power_of_two(n);
    let exponential = b.fma(power, tail, power);
    let divisor = b.offset(exponential, 1.0);
    let two = b.float(x.kind(), 2.0);
    let quotient = b.div(two, divisor);
    let one = b.float(x.kind(), 1.0);
    let far = b.sub(one, quotient);
    let is_near = b.compare_to("olt", magnitude, 0.8);
    let result = b.select(is_near, near, far);
    b.copysign(result, x)
}
