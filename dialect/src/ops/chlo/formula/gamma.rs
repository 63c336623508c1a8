//! The logarithm of the gamma function and its derivative as formulas: Lanczos' approximation for x >= 1/2, the
//! reflection formula below. Source: C. Lanczos (1964), g = 7 with nine coefficients.

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Le, Lt};
use crate::scalar::ScalarOp::{Abs, Floor, Log, Log1p, Min, Neg, Sin, Tan};

const G: f64 = 7.0;
const BASE: f64 = 0.999_999_999_999_809_9;
const LANCZOS: [f64; 8] = [
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];

/// What both functions share.
struct Lanczos {
    /// The argument less 1; where x < 1/2, that of the reflected argument.
    z: Arg,
    /// z + g + 1/2
    t: Arg,
    /// The logarithm of t.
    log_t: Arg,
    /// Lanczos' sum, and the negative of its derivative.
    sum: Arg,
    slope: Arg,
}

impl Formula {
    fn lanczos(&mut self, x: Arg) -> Lanczos {
        let (half, one, shift) = (self.c(0.5), self.c(1.0), self.c(G + 0.5));
        let (minus, less) = (self.op(Neg, &[x]), self.sub(x, one));
        let z = self.choose(Lt, x, half, minus, less);
        let (mut sum, mut slope) = (self.c(BASE), self.c(0.0));
        for (i, &coefficient) in LANCZOS.iter().enumerate() {
            let (coefficient, place) = (self.c(coefficient), self.c(i as f64 + 1.0));
            let below = self.add(z, place);
            let term = self.div(coefficient, below);
            sum = self.add(sum, term);
            let steeper = self.div(term, below);
            slope = self.add(slope, steeper);
        }
        let t = self.add(shift, z);
        // log(g + 1/2) + log1p(z / (g + 1/2)) loses less precision than log t.
        let ratio = self.div(z, shift);
        let (log_shift, rest) = (self.c((G + 0.5).ln()), self.op(Log1p, &[ratio]));
        let log_t = self.add(log_shift, rest);
        Lanczos { z, t, log_t, sum, slope }
    }

    /// The logarithm of |gamma|.
    pub(crate) fn lgamma(&mut self, x: Arg) -> Arg {
        let (half, one, pi) = (self.c(0.5), self.c(1.0), self.c(std::f64::consts::PI));
        let Lanczos { z, t, log_t, sum, .. } = self.lanczos(x);
        // (z + 1/2) log t - t + log sum, factored as one product to avoid infinity minus infinity.
        let (above, ratio) = (self.add(z, half), self.div(t, log_t));
        let difference = self.sub(above, ratio);
        let product = self.mul(difference, log_t);
        let (log_root, log_sum) = (self.c((2.0 * std::f64::consts::PI).sqrt().ln()), self.op(Log, &[sum]));
        let rest = self.add(log_root, log_sum);
        let value = self.add(product, rest);
        // log pi - log |sin pi x| - value, with the sine taken of the distance to the nearest integer.
        let magnitude = self.op(Abs, &[x]);
        let whole = self.op(Floor, &[magnitude]);
        let fraction = self.sub(magnitude, whole);
        let other = self.sub(one, fraction);
        let distance = self.op(Min, &[fraction, other]);
        let angle = self.mul(pi, distance);
        let sine = self.op(Sin, &[angle]);
        let log_sine = self.op(Log, &[sine]);
        let log_pi = self.c(std::f64::consts::PI.ln());
        let reflected = self.sub(log_pi, log_sine);
        let reflected = self.sub(reflected, value);
        // At the poles the sine is 0; the infinity of its logarithm is the result.
        let pole = self.op(Neg, &[log_sine]);
        let (zero, infinity) = (self.c(0.0), self.c(f64::INFINITY));
        let reflected = self.choose(Eq, sine, zero, pole, reflected);
        let value = self.choose(Lt, x, half, reflected, value);
        self.choose(Eq, magnitude, infinity, infinity, value)
    }

    /// The derivative of the logarithm of gamma.
    pub(crate) fn digamma(&mut self, x: Arg) -> Arg {
        let (half, zero, pi, g, nan) =
            (self.c(0.5), self.c(0.0), self.c(std::f64::consts::PI), self.c(G), self.c(f64::NAN));
        let Lanczos { t, log_t, sum, slope, .. } = self.lanczos(x);
        let (falls, rest) = (self.div(slope, sum), self.div(g, t));
        let value = self.sub(log_t, falls);
        let value = self.sub(value, rest);
        // value - pi / tan(pi x), with x less the nearest integer so that the product stays exact.
        let shifted = self.add(x, half);
        let nearest = self.op(Floor, &[shifted]);
        let offset = self.sub(x, nearest);
        let angle = self.mul(pi, offset);
        let tangent = self.op(Tan, &[angle]);
        let reflection = self.div(pi, tangent);
        let reflected = self.sub(value, reflection);
        let value_or = self.choose(Lt, x, half, reflected, value);
        // Undefined (NaN) at the poles.
        let whole = self.op(Floor, &[x]);
        let at_integer = self.choose(Eq, x, whole, nan, value_or);
        self.choose(Le, x, zero, at_integer, value_or)
    }
}
