//! The Hurwitz zeta function by Euler–Maclaurin summation: the first terms of the sum, the integral of the rest, and
//! corrections by Bernoulli numbers. Polygamma is its value at an integer, scaled.

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Le, Lt};
use crate::scalar::ScalarOp::{Exp, Floor, Neg, Pow};

/// The number of terms that are summed one by one.
const TERMS: usize = 10;
/// `B(2j) / (2j)!` for j = 1, 2, …
const CORRECTIONS: [f64; 12] = [
    1.0 / 12.0,
    -1.0 / 720.0,
    1.0 / 30_240.0,
    -1.0 / 1_209_600.0,
    1.0 / 47_900_160.0,
    -691.0 / 1_307_674_368_000.0,
    1.0 / 74_724_249_600.0,
    -3_617.0 / 10_670_622_842_880_000.0,
    43_867.0 / 5_109_094_217_170_944_000.0,
    -174_611.0 / 802_857_662_698_291_200_000.0,
    77_683.0 / 14_101_100_039_391_805_440_000.0,
    -236_364_091.0 / 1_693_824_136_731_743_669_452_800_000.0,
];

impl Formula {
    /// Builds the sum of `(q + k)^-x` over k = 0, 1, …
    pub(crate) fn zeta(&mut self, x: Arg, q: Arg) -> Arg {
        let (zero, one, half) = (self.c(0.0), self.c(1.0), self.c(0.5));
        let power = self.op(Neg, &[x]);
        let (mut sum, mut a) = (self.op(Pow, &[q, power]), q);
        for _ in 1..TERMS {
            a = self.add(a, one);
            let term = self.op(Pow, &[a, power]);
            sum = self.add(sum, term);
        }
        a = self.add(a, one);
        let term = self.op(Pow, &[a, power]);
        // The integral from a on, and half of the term at a.
        let (less, product) = (self.sub(x, one), self.mul(term, a));
        let integral = self.div(product, less);
        let half_term = self.mul(half, term);
        let start = self.add(sum, integral);
        let start = self.add(start, half_term);
        // x a^(-x-1), then x(x+1)(x+2) a^(-x-3), …
        let square = self.mul(a, a);
        let ratio = self.div(x, a);
        let mut factor = self.mul(term, ratio);
        let mut total = start;
        for (j, &correction) in CORRECTIONS.iter().enumerate() {
            let c = self.c(correction);
            let step = self.mul(c, factor);
            total = self.add(total, step);
            let (k, l) = (self.c(2.0 * j as f64 + 1.0), self.c(2.0 * j as f64 + 2.0));
            let (k, l) = (self.add(x, k), self.add(x, l));
            let growth = self.mul(k, l);
            let growth = self.div(growth, square);
            factor = self.mul(factor, growth);
        }
        // If the terms vanish, only finite numbers may be added.
        let total = self.choose(Eq, term, zero, sum, total);
        let (nan, infinity) = (self.c(f64::NAN), self.c(f64::INFINITY));
        // At and below 0 there are poles, and powers of negative numbers exist only for integer x.
        let (whole_q, whole_x) = (self.op(Floor, &[q]), self.op(Floor, &[x]));
        let half_x = self.mul(half, x);
        let half_whole = self.op(Floor, &[half_x]);
        let pole = self.choose(Eq, half_x, half_whole, infinity, nan);
        let pole = self.choose(Eq, x, whole_x, pole, nan);
        let other = self.choose(Eq, x, whole_x, total, nan);
        let below = self.choose(Eq, q, whole_q, pole, other);
        let value = self.choose(Le, q, zero, below, total);
        let value = self.choose(Lt, x, one, nan, value);
        self.choose(Eq, x, one, infinity, value)
    }

    /// Builds the n-th derivative of digamma: `(-1)^(n+1) n! zeta(n + 1, x)`.
    pub(crate) fn polygamma(&mut self, n: Arg, x: Arg) -> Arg {
        let (zero, one, two, half) = (self.c(0.0), self.c(1.0), self.c(2.0), self.c(0.5));
        let next = self.add(n, one);
        // 1 for odd n, -1 for even n.
        let halves = self.mul(half, n);
        let whole = self.op(Floor, &[halves]);
        let parity = self.sub(halves, whole);
        let sign = self.mul(parity, two);
        let sign = self.mul(sign, two);
        let sign = self.sub(sign, one);
        let log_factorial = self.in_double(next, Formula::lgamma);
        let factorial = self.op(Exp, &[log_factorial]);
        let zeta = self.zeta(next, x);
        let value = self.mul(factorial, zeta);
        let value = self.mul(sign, value);
        let digamma = self.in_double(x, Formula::digamma);
        let value = self.choose(Eq, n, zero, digamma, value);
        let (whole, nan) = (self.op(Floor, &[n]), self.c(f64::NAN));
        let value = self.choose(Eq, n, whole, value, nan);
        self.choose(Lt, n, zero, nan, value)
    }
}
