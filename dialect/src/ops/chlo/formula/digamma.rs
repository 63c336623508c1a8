//! Digamma, the derivative of the logarithm of gamma, as a formula.
//!
//! `digamma(x) = digamma(x + 12) - 1/x - 1/(x + 1) - …`, and from 12 on an asymptotic series; below 0 by reflection.
//! All of it is computed in twice the precision, because the terms cancel at the root between any two poles. The
//! coefficients are from Chebyshev interpolation with 400 bits; the comment at each polynomial states its largest error
//! before rounding.

use std::f64::consts::FRAC_1_SQRT_2;

use super::Formula;
use super::pair::{Coefficients, Pair};
use crate::ir::ElementType;
use crate::kernel::{Arg, Inst};
use crate::scalar::Comparison::{Eq, Gt, Lt};
use crate::scalar::Scalar;
use crate::scalar::ScalarOp::{self, Abs, Log, RoundEven, Sign};

/// `z² (log z - 1 / (2z) - digamma z)` in 1/z², z >= 12; 2^-112 of digamma.
const FALL: [f64; 14] = [
    0.08333333333333333,
    -0.008333333333333333,
    0.003968253968253968,
    -0.004166666666666667,
    0.007575757575757453,
    -0.02109279609265325,
    0.08333333322541749,
    -0.44325974841360133,
    3.0539343436961004,
    -26.451107098477607,
    280.5345847939683,
    -3489.873215092519,
    44635.60667671228,
    -400211.49654083775,
];
/// The low parts of its first coefficients.
const FALL_LOW: [f64; 8] = [
    4.625929269271454e-18,
    -1.156482299209394e-19,
    2.2026529565559756e-19,
    5.4706280415699116e-21,
    1.9764730478204835e-19,
    9.034068512947543e-19,
    -4.909710499866409e-18,
    -1.9836159265184498e-17,
];
/// `sin(pi d) / (pi d)` in d², |d| <= 1/4; 2^-115.
const SINE: [f64; 12] = [
    1.0,
    -1.6449340668482264,
    0.8117424252833536,
    -0.19075182412208422,
    0.0261478478176548,
    -0.0023460810354558235,
    0.000148428793031071,
    -6.975873661655631e-06,
    2.5312174039470776e-07,
    -7.304711504298277e-09,
    1.716504725308412e-10,
    -3.327541884706084e-12,
];
/// The low parts of its first coefficients.
const SINE_LOW: [f64; 9] = [
    -2.319723819048157e-35,
    -3.040672350398465e-17,
    3.561384032133371e-17,
    4.419585653615151e-18,
    6.311726144302841e-19,
    -1.6925569586473033e-19,
    -1.2579414203805378e-20,
    2.636097859325169e-22,
    5.0712346472439045e-25,
];
/// `cos(pi d)` in d², |d| <= 1/4; 2^-110.
const COSINE: [f64; 12] = [
    1.0,
    -4.934802200544679,
    4.0587121264167685,
    -1.3352627688545895,
    0.2353306303588932,
    -0.02580689139001406,
    0.0019295743094039225,
    -0.00010463810492482698,
    4.303069586558253e-06,
    -1.387895166769871e-07,
    3.6046464500417925e-09,
    -7.649240245415129e-11,
];
/// The low parts of its first coefficients.
const COSINE_LOW: [f64; 9] = [
    -5.796761203792672e-34,
    -3.132647754369829e-16,
    -2.6602000824502384e-16,
    3.1815243977475744e-18,
    -1.2584004522654942e-18,
    1.1787383257644096e-18,
    6.061861679643848e-20,
    1.899980591090235e-21,
    -3.0958400314587226e-22,
];

/// pi² and its low part.
const PI_SQUARED: [f64; 2] = [9.869604401089358, 6.265295508739711e-16];
/// log 2 in three parts; products of the first with exponents are exact.
const LOG_2: [f64; 3] = [0.6931471805598903, 5.497923018708371e-14, 1.94704509238075e-31];
/// The distance by which the argument is shifted up.
const SHIFT: usize = 12;
/// The number of terms of atanh in the logarithm, and of those that need twice the precision.
const LOG_TERMS: usize = 22;
const PRECISE_LOG_TERMS: usize = 11;

impl Formula {
    /// Builds the derivative of the logarithm of gamma.
    pub(crate) fn digamma(&mut self, x: Arg) -> Arg {
        let (zero, one) = (self.c(0.0), self.c(1.0));
        let magnitude = self.op(Abs, &[x]);
        // digamma(-y) = digamma(1 + y) + pi / tan(pi y)
        let (unit, argument) = (self.sum(one, magnitude), self.single(magnitude));
        let base = self.pair_choose(Lt, x, zero, unit, argument);
        let value = self.digamma_of_positive(base);
        let whole = self.op(RoundEven, &[magnitude]);
        let offset = self.sub(magnitude, whole);
        let cotangent = self.pi_cotangent(offset);
        let reflected = self.pair_add(value, cotangent);
        let reflected = self.close(reflected);
        let value = self.close(value);
        let value = self.choose(Lt, x, zero, reflected, value);
        // The parts of very large and very small numbers overflow and underflow; there, one term is enough.
        let (large, log) = (self.c(1e100), self.op(Log, &[x]));
        let value = self.choose(Gt, x, large, log, value);
        let (small, minus) = (self.c(1e-100), self.c(-1.0));
        let pole = self.div(minus, x);
        let value = self.choose(Lt, magnitude, small, pole, value);
        // The function is undefined at the poles.
        let nan = self.c(f64::NAN);
        let at_pole = self.choose(Eq, offset, zero, nan, value);
        let outside = self.choose(Lt, x, zero, at_pole, value);
        self.choose(Eq, x, zero, nan, outside)
    }

    fn digamma_of_positive(&mut self, base: Pair) -> Pair {
        let shift = self.c(SHIFT as f64);
        let shift = self.single(shift);
        let z = self.pair_add(base, shift);
        let inverse = self.pair_inverse(z);
        let square = self.pair_mul(inverse, inverse);
        let fall = self.pair_horner(square, &Coefficients { hi: &FALL, lo: &FALL_LOW });
        let mut lost = self.pair_mul(fall, square);
        let half = self.c(0.5);
        let half = self.single(half);
        let first = self.pair_mul(inverse, half);
        lost = self.pair_add(first, lost);
        for k in (0..SHIFT).rev() {
            let place = self.c(k as f64);
            let place = self.single(place);
            let at = if k == 0 { base } else { self.pair_add(base, place) };
            let term = self.pair_inverse(at);
            lost = self.pair_add(lost, term);
        }
        let (log, lost) = (self.pair_log(z), self.negative(lost));
        self.pair_add(log, lost)
    }

    /// Builds the logarithm of a positive number that isn't extremely large or small.
    fn pair_log(&mut self, x: Pair) -> Pair {
        if !self.exact() {
            let log = self.op(Log, &[x.hi]);
            return self.single(log);
        }
        let int = ElementType::I64;
        let whole = |m: &mut Self, value: i64| m.body.push(Inst::Const(Scalar::Int(value.into()), int));
        // x = 2^k m with m between sqrt(1/2) and sqrt(2).
        let (width, root) = (whole(self, 52), whole(self, FRAC_1_SQRT_2.to_bits().cast_signed()));
        let bits = self.typed(ScalarOp::Bitcast, &[x.hi], int);
        let above = self.typed(ScalarOp::Sub, &[bits, root], int);
        let k = self.typed(ScalarOp::ShrArithmetic, &[above, width], int);
        let exponent = self.typed(ScalarOp::Shl, &[k, width], int);
        let mantissa = self.typed(ScalarOp::Sub, &[bits, exponent], int);
        let m = self.typed(ScalarOp::Bitcast, &[mantissa], ElementType::F64);
        let one_bits = whole(self, 1f64.to_bits().cast_signed());
        let scale = self.typed(ScalarOp::Sub, &[one_bits, exponent], int);
        let scale = self.typed(ScalarOp::Bitcast, &[scale], ElementType::F64);
        let lo = x.lo.map(|lo| self.mul(lo, scale));
        let k = self.convert(k, ElementType::F64);
        // log m = 2 atanh s with s = (m - 1) / (m + 1).
        let (one, minus_one) = (self.c(1.0), self.c(-1.0));
        let (m, one, minus_one) = (Pair { hi: m, lo }, self.single(one), self.single(minus_one));
        let (below, over) = (self.pair_add(m, minus_one), self.pair_add(m, one));
        let s = self.pair_div(below, over);
        let square = self.pair_mul(s, s);
        let mut series = self.c(1.0 / (2.0 * LOG_TERMS as f64 - 1.0));
        for term in (PRECISE_LOG_TERMS..LOG_TERMS - 1).rev() {
            let c = self.c(1.0 / (2.0 * term as f64 + 1.0));
            series = self.mul_add(series, square.hi, c);
        }
        let mut series = self.single(series);
        for term in (0..PRECISE_LOG_TERMS).rev() {
            let divisor = 2.0 * term as f64 + 1.0;
            let hi = 1.0 / divisor;
            let (product, c) = (self.pair_mul(series, square), self.pair(hi, hi.mul_add(-divisor, 1.0) / divisor));
            series = self.pair_add(c, product);
        }
        let log = self.pair_mul(series, s);
        let log = self.pair_add(log, log);
        let parts = LOG_2.map(|part| self.c(part));
        let whole = self.mul(k, parts[0]);
        let (middle, last) = (self.single(parts[1]), self.mul(k, parts[2]));
        let k = self.single(k);
        let middle = self.pair_mul(k, middle);
        let (whole, last) = (self.single(whole), self.single(last));
        let rest = self.pair_add(log, last);
        let rest = self.pair_add(middle, rest);
        self.pair_add(whole, rest)
    }

    /// Builds `pi / tan(pi d)` for |d| <= 1/2.
    fn pi_cotangent(&mut self, d: Arg) -> Pair {
        let (half, quarter) = (self.c(0.5), self.c(0.25));
        let distance = self.op(Abs, &[d]);
        // Beyond 1/4, use the tangent of the distance to 1/2.
        let left = self.sub(half, distance);
        let v = self.choose(Gt, distance, quarter, left, distance);
        let v = self.single(v);
        let square = self.pair_mul(v, v);
        let sine = self.pair_horner(square, &Coefficients { hi: &SINE, lo: &SINE_LOW });
        let sine = self.pair_mul(sine, v);
        let cosine = self.pair_horner(square, &Coefficients { hi: &COSINE, lo: &COSINE_LOW });
        let pi_squared = self.pair(PI_SQUARED[0], PI_SQUARED[1]);
        let scaled = self.pair_mul(sine, pi_squared);
        let above = self.pair_choose(Gt, distance, quarter, scaled, cosine);
        let below = self.pair_choose(Gt, distance, quarter, cosine, sine);
        let value = self.pair_div(above, below);
        let sign = self.op(Sign, &[d]);
        Pair { hi: self.mul(value.hi, sign), lo: value.lo.map(|lo| self.mul(lo, sign)) }
    }
}
