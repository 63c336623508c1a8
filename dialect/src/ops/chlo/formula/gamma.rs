//! The logarithm of |gamma| as a formula.
//!
//! From 8 on by Stirling's series; between 1/2 and 8 by `gamma(x + 1) = x gamma(x)` from the interval around 1 or 2,
//! with polynomials that preserve the roots; below that by `1 / |gamma(d - n)| = |d| (1 - d) (2 - d) … (n - d) /
//! gamma(1 + d)`, in twice the precision, because this quotient is close to 1 near a root; far below 0 by reflection.
//! The coefficients are from Chebyshev interpolation with 400 bits; the comment at each polynomial states its largest
//! error before rounding.

use std::f64::consts::PI;

use super::Formula;
use super::pair::Coefficients;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Ge, Gt, Le, Lt};
use crate::scalar::ScalarOp::{Abs, Log, Log1p, Neg, RoundEven};

/// `lgamma(1 + d) / d`, |d| <= 1/2; 2^-61.
const FROM_ONE: [f64; 30] = [
    -0.5772156649015329,
    0.8224670334241132,
    -0.40068563438653065,
    0.27058080842778026,
    -0.20738555102889636,
    0.16955717699821546,
    -0.14404989674293042,
    0.12550966945361255,
    -0.11133426744819344,
    0.10009946106870661,
    -0.09095395937948512,
    0.08335372852716888,
    -0.07693389168797567,
    0.07143531456613504,
    -0.06664634848826916,
    0.06246601996645537,
    -0.05907935115771443,
    0.055923603007143954,
    -0.05055361916461507,
    0.047207949581154034,
    -0.05967209611450288,
    0.06069988251670486,
    0.005627198134008818,
    -0.017221996443625896,
    -0.17545100195447957,
    0.1933124209110138,
    0.19662943603137412,
    -0.21990054046608104,
    -0.24134519253805736,
    0.25001640963788685,
];
/// `lgamma(2 + d) / d`, |d| <= 1/2; 2^-61.
const FROM_TWO: [f64; 19] = [
    0.42278433509846713,
    0.32246703342411326,
    -0.06735230105319814,
    0.020580808427780335,
    -0.007385551028668096,
    0.002890510331036772,
    -0.0011927539120033873,
    0.0005096695153484373,
    -0.00022315475069647703,
    9.945767440096764e-05,
    -4.492635166770342e-05,
    2.0505584372896933e-05,
    -9.438454884054723e-06,
    4.3847319318293745e-06,
    -2.044935323180052e-06,
    9.199898075671394e-07,
    -4.303234692956732e-07,
    2.7880013392491846e-07,
    -1.341570273460026e-07,
];
/// `1 / gamma(1 + d)`, |d| <= 1/2; 2^-111 with the low parts.
const INVERSE: [f64; 26] = [
    1.0,
    0.5772156649015329,
    -0.6558780715202539,
    -0.04200263503409524,
    0.16653861138229148,
    -0.04219773455554433,
    -0.009621971527876973,
    0.0072189432466631,
    -0.0011651675918590652,
    -0.00021524167411495098,
    0.0001280502823881162,
    -2.013485478078824e-05,
    -1.2504934821426704e-06,
    1.1330272319816964e-06,
    -2.056338416977632e-07,
    6.116095104475429e-09,
    5.0020076444893755e-09,
    -1.1812745704426693e-09,
    1.0434267105663188e-10,
    7.782263211833732e-12,
    -3.696805191681031e-12,
    5.100378272004493e-13,
    -2.0584321433813517e-14,
    -5.3499370181985715e-15,
    1.2283677265507719e-15,
    -1.1571557491108605e-16,
];
/// The low parts of its first coefficients.
const INVERSE_LOW: [f64; 19] = [
    3.548366161912728e-34,
    -4.9429151524306364e-18,
    2.137185197068488e-17,
    1.4920306285608553e-18,
    1.0189144546950155e-17,
    -3.3579992676440025e-18,
    -5.300031464358438e-19,
    -3.6006541112473876e-19,
    5.659991729138862e-20,
    2.3773979659603183e-21,
    -9.371126800100484e-21,
    -5.53945328939222e-24,
    -2.7396225788554885e-23,
    9.176101216230961e-23,
    -4.1105031100299606e-24,
    -1.2136978729546218e-25,
    2.285527653397531e-25,
    8.610364266613254e-26,
    4.883182058985211e-27,
];
/// `x (lgamma x - (x - 1/2) log x + x - log(2 pi) / 2)` in 1/x², x >= 8; 2^-61.
const STIRLING: [f64; 7] = [
    0.08333333333333333,
    -0.0027777777777740443,
    0.0007936507897939822,
    -0.0005952365958109715,
    0.0008414714760940962,
    -0.0018904619118891278,
    0.005067585376179586,
];
/// `sin(pi d) / (pi d)` in d², |d| <= 1/2; 2^-71.
const SINE: [f64; 10] = [
    1.0,
    -1.6449340668482264,
    0.8117424252833536,
    -0.19075182412208255,
    0.026147847817611956,
    -0.0023460810348155665,
    0.000148428787205064,
    -6.975840836001193e-06,
    2.5300986998688535e-07,
    -7.0931386413783905e-09,
];

/// The number of factors of the quotient that need twice the precision: further from 0, no float except the poles is
/// near a root.
const PRECISE_FACTORS: usize = 17;
/// The number of factors of the quotient beyond which reflection is as accurate.
const FACTORS: usize = 30;
const FACTORS_NARROW: usize = 13;

impl Formula {
    /// Builds the logarithm of |gamma|.
    pub(crate) fn lgamma(&mut self, x: Arg) -> Arg {
        let (half, eight, infinity) = (self.c(0.5), self.c(8.0), self.c(f64::INFINITY));
        let magnitude = self.op(Abs, &[x]);
        let whole = self.op(RoundEven, &[x]);
        let offset = self.sub(x, whole);
        let stirling = self.stirling(magnitude);
        let near = self.lgamma_near(x, whole, offset);
        let below = self.lgamma_below(whole, offset);
        let far_below = self.lgamma_far_below(magnitude, offset, stirling);
        let factors = if self.exact() { FACTORS } else { FACTORS_NARROW };
        let limit = self.c(-(factors as f64) - 0.5);
        let below = self.choose(Lt, x, limit, far_below, below);
        let positive = self.choose(Lt, x, eight, near, stirling);
        let value = self.choose(Le, x, half, below, positive);
        self.choose(Ge, magnitude, infinity, infinity, value)
    }

    /// Builds `(x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + …` for x >= 8.
    fn stirling(&mut self, x: Arg) -> Arg {
        let (half, one) = (self.c(0.5), self.c(1.0));
        let inverse = self.div(one, x);
        let square = self.mul(inverse, inverse);
        let series = self.horner(square, &STIRLING);
        let constant = self.c(((2.0 * PI).ln() - 1.0) / 2.0);
        let rest = self.mul_add(inverse, series, constant);
        let log = self.op(Log, &[x]);
        let (less, log_less) = (self.sub(x, half), self.sub(log, one));
        self.mul_add(less, log_less, rest)
    }

    /// Builds the function for 1/2 < x < 8.
    fn lgamma_near(&mut self, x: Arg, whole: Arg, offset: Arg) -> Arg {
        let (one, first) = (self.c(1.0), self.c(1.5));
        let slope = self.horner(offset, &FROM_TWO);
        let slope_around_one = self.horner(offset, &FROM_ONE);
        let slope = self.choose(Lt, x, first, slope_around_one, slope);
        let base = self.mul(slope, offset);
        let mut product = one;
        for k in 2..8 {
            let (place, last) = (self.c(f64::from(k)), self.c(f64::from(k) + 0.5));
            let factor = self.add(offset, place);
            let factor = self.choose(Gt, whole, last, factor, one);
            product = self.mul(product, factor);
        }
        let log = self.op(Log, &[product]);
        self.add(base, log)
    }

    /// Builds the function for -FACTORS - 1/2 <= x <= 1/2.
    fn lgamma_below(&mut self, whole: Arg, offset: Arg) -> Arg {
        let one = self.c(1.0);
        let (unit, offset) = (self.single(one), self.single(offset));
        let minus = self.negative(offset);
        let mut product = self.pair_horner(offset, &Coefficients { hi: &INVERSE, lo: &INVERSE_LOW });
        let magnitude = self.op(Abs, &[offset.hi]);
        let magnitude = self.single(magnitude);
        product = self.pair_mul(product, magnitude);
        let factors = if self.exact() { FACTORS } else { FACTORS_NARROW };
        for k in 1..=factors {
            let (place, last) = (self.c(k as f64), self.c(0.5 - k as f64));
            if k <= PRECISE_FACTORS {
                let factor = self.sum(place, minus.hi);
                let factor = self.pair_choose(Lt, whole, last, factor, unit);
                product = self.pair_mul(product, factor);
            } else {
                let factor = self.add(place, minus.hi);
                let factor = self.choose(Lt, whole, last, factor, one);
                product.hi = self.mul(product.hi, factor);
            }
        }
        let mut log = self.op(Log, &[product.hi]);
        if let Some(lo) = product.lo {
            let correction = self.div(lo, product.hi);
            let corrected = self.add(log, correction);
            let zero = self.c(0.0);
            log = self.choose(Gt, product.hi, zero, corrected, log);
        }
        let mut excess = self.sub(product.hi, one);
        if let Some(lo) = product.lo {
            excess = self.add(excess, lo);
        }
        let near_log = self.op(Log1p, &[excess]);
        let (distance, bound) = (self.op(Abs, &[excess]), self.c(0.3));
        let log = self.choose(Lt, distance, bound, near_log, log);
        self.op(Neg, &[log])
    }

    /// Builds `-log(|x sin(pi x)| / pi) - lgamma |x|`.
    fn lgamma_far_below(&mut self, magnitude: Arg, offset: Arg, stirling: Arg) -> Arg {
        let square = self.mul(offset, offset);
        let sine = self.horner(square, &SINE);
        let distance = self.op(Abs, &[offset]);
        let sine = self.mul(sine, distance);
        let product = self.mul(sine, magnitude);
        let log = self.op(Log, &[product]);
        let sum = self.add(log, stirling);
        let value = self.op(Neg, &[sum]);
        let (zero, infinity) = (self.c(0.0), self.c(f64::INFINITY));
        self.choose(Eq, distance, zero, infinity, value)
    }
}
