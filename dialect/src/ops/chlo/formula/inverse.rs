//! Inverse circular and hyperbolic functions as formulas, real and complex.
//! Source: W. Kahan, "Branch cuts for complex elementary functions" (1987).

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::Comparison::{Eq, Gt, Lt};
use crate::scalar::ScalarOp::{Abs, Add, Atan2, Complex, Imag, Log, Log1p, Mul, Neg, Real, Sqrt};

use std::f64::consts::{LN_2, PI};

/// Real and imaginary part.
type Parts = (Arg, Arg);

impl Formula {
    /// Builds `2 atan2(x, 1 + sqrt((1 - x)(1 + x)))`.
    pub(crate) fn asin(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            let z = self.parts(x);
            let angle = self.asin_of_parts(z);
            return self.whole(angle);
        }
        let (leg, one) = (self.other_leg(x), self.c(1.0));
        let below = self.add(one, leg);
        let half = self.op(Atan2, &[x, below]);
        self.add(half, half)
    }

    /// Builds `2 atan2(sqrt((1 - x)(1 + x)), 1 + x)`, and pi at -1.
    pub(crate) fn acos(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            let z = self.parts(x);
            let ((ar, ai), (br, bi)) = self.roots_around_one(z);
            let result = self.in_parts(|m| {
                let half = m.op(Atan2, &[ar, br]);
                let (p, q) = (m.mul(br, ai), m.mul(bi, ar));
                let skew = m.sub(p, q);
                (m.add(half, half), m.asinh(skew))
            });
            return self.whole(result);
        }
        let (leg, one, end, pi) = (self.other_leg(x), self.c(1.0), self.c(-1.0), self.c(PI));
        let below = self.add(one, x);
        let half = self.op(Atan2, &[leg, below]);
        let angle = self.add(half, half);
        self.choose(Eq, x, end, pi, angle)
    }

    pub(crate) fn atan(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            // -i atanh(iz)
            let (re, im) = self.parts(x);
            let (b, a) = self.in_parts(|m| {
                let minus = m.op(Neg, &[im]);
                let (a, b) = m.atanh_of_parts((minus, re));
                (b, m.op(Neg, &[a]))
            });
            return self.whole((b, a));
        }
        let one = self.c(1.0);
        self.op(Atan2, &[x, one])
    }

    /// Builds `sign(x) log1p(|x| + x² / (1 + sqrt(x² + 1)))`, or `log|x| + log 2` if x² overflows.
    pub(crate) fn asinh(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            // -i asin(iz)
            let (re, im) = self.parts(x);
            let minus = self.in_parts(|m| m.op(Neg, &[im]));
            let (a, b) = self.asin_of_parts((minus, re));
            let a = self.in_parts(|m| m.op(Neg, &[a]));
            return self.whole((b, a));
        }
        let (one, log2, limit) = (self.c(1.0), self.c(LN_2), self.c(1e9));
        let magnitude = self.op(Abs, &[x]);
        let square = self.mul(x, x);
        let inside = self.add(square, one);
        let root = self.op(Sqrt, &[inside]);
        let below = self.add(one, root);
        let rest = self.div(square, below);
        let argument = self.add(magnitude, rest);
        let small = self.op(Log1p, &[argument]);
        let log = self.op(Log, &[magnitude]);
        let large = self.add(log, log2);
        let value = self.choose(Gt, magnitude, limit, large, small);
        self.signed_like(value, x)
    }

    /// Builds `log1p(t + sqrt(t (t + 2)))` for `t = x - 1`, or `log x + log 2` if that overflows.
    pub(crate) fn acosh(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            let one = self.c(1.0);
            let (a, b) = (self.sub(x, one), self.add(x, one));
            let (a, b) = (self.op(Sqrt, &[a]), self.op(Sqrt, &[b]));
            let ((ar, ai), (br, bi)) = (self.parts(a), self.parts(b));
            let result = self.in_parts(|m| {
                let (p, q) = (m.mul(ar, br), m.mul(ai, bi));
                let product = m.add(p, q);
                let half = m.op(Atan2, &[ai, br]);
                (m.asinh(product), m.add(half, half))
            });
            return self.whole(result);
        }
        let (one, two, log2, limit) = (self.c(1.0), self.c(2.0), self.c(LN_2), self.c(1e9));
        let t = self.sub(x, one);
        let above = self.add(t, two);
        let product = self.mul(t, above);
        let root = self.op(Sqrt, &[product]);
        let argument = self.add(t, root);
        let small = self.op(Log1p, &[argument]);
        let log = self.op(Log, &[x]);
        let large = self.add(log, log2);
        let value = self.choose(Gt, x, limit, large, small);
        let nan = self.c(f64::NAN);
        self.choose(Lt, x, one, nan, value)
    }

    /// Builds `(log1p(x) - log1p(-x)) / 2`.
    pub(crate) fn atanh(&mut self, x: Arg) -> Arg {
        if self.is_complex() {
            let z = self.parts(x);
            let result = self.in_parts(|m| m.atanh_of_parts(z));
            return self.whole(result);
        }
        let half = self.c(0.5);
        let minus = self.op(Neg, &[x]);
        let (a, b) = (self.op(Log1p, &[x]), self.op(Log1p, &[minus]));
        let twice = self.sub(a, b);
        self.mul(half, twice)
    }

    fn parts(&mut self, z: Arg) -> Parts {
        (self.part(Real, z), self.part(Imag, z))
    }

    fn whole(&mut self, (re, im): Parts) -> Arg {
        self.op(Complex, &[re, im])
    }

    /// Builds the real and imaginary parts of `sqrt(1 - z)` and `sqrt(1 + z)`.
    fn roots_around_one(&mut self, z: Parts) -> (Parts, Parts) {
        let one = self.c(1.0);
        let z = self.whole(z);
        let (a, b) = (self.sub(one, z), self.op(Add, &[one, z]));
        let (a, b) = (self.op(Sqrt, &[a]), self.op(Sqrt, &[b]));
        (self.parts(a), self.parts(b))
    }

    /// Builds CHLO's `(Re sqrt(1 - z²), |Im asin z|)`, from which it derives the four inverse functions.
    pub(crate) fn asin_acos_kernel(&mut self, x: Arg) -> Arg {
        let z = self.parts(x);
        let (leg, height) = self.leg_and_height(z);
        let height = self.in_parts(|m| m.op(Abs, &[height]));
        self.whole((leg, height))
    }

    fn asin_of_parts(&mut self, z: Parts) -> Parts {
        let (leg, height) = self.leg_and_height(z);
        (self.in_parts(|m| m.op(Atan2, &[z.0, leg])), height)
    }

    /// Builds `(Re sqrt(1 - z²), Im asin z)`.
    fn leg_and_height(&mut self, z: Parts) -> Parts {
        let ((ar, ai), (br, bi)) = self.roots_around_one(z);
        self.in_parts(|m| {
            let (p, q) = (m.mul(ar, br), m.op(Mul, &[ai, bi]));
            let leg = m.sub(p, q);
            let (p, q) = (m.mul(ar, bi), m.mul(ai, br));
            let skew = m.sub(p, q);
            (leg, m.asinh(skew))
        })
    }

    /// Builds `(log1p(4x / ((1 - x)² + y²)) / 4, atan2(2y, (1 - x)(1 + x) - y²) / 2)`.
    fn atanh_of_parts(&mut self, (x, y): Parts) -> Parts {
        let (one, four, half, quarter) = (self.c(1.0), self.c(4.0), self.c(0.5), self.c(0.25));
        let (less, more) = (self.sub(one, x), self.add(one, x));
        let (x_square, y_square) = (self.mul(less, less), self.mul(y, y));
        let distance = self.add(x_square, y_square);
        let x4 = self.mul(four, x);
        let ratio = self.div(x4, distance);
        let log = self.op(Log1p, &[ratio]);
        let (y2, product) = (self.add(y, y), self.mul(less, more));
        let base = self.sub(product, y_square);
        let angle = self.op(Atan2, &[y2, base]);
        (self.mul(quarter, log), self.mul(half, angle))
    }
}
