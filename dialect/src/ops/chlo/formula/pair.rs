//! Numbers as unevaluated sums of two floats, of about twice the precision, which a function needs near its roots,
//! where large terms cancel. Results of a type narrower than the working type need no second part, and have none.
//!
//! Source: T. J. Dekker, "A floating-point technique for extending the available precision" (1971), with fused
//! multiply-add for the rounding errors of products.

use super::Formula;
use crate::kernel::Arg;
use crate::scalar::ScalarOp::{MulAdd, Neg};

/// `hi + lo`, where `lo` is below the precision of `hi`; a formula that isn't [exact](Formula::exact) has no `lo`.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub(crate) hi: Arg,
    pub(crate) lo: Option<Arg>,
}

/// A polynomial, constant first. The first coefficients have low parts; the others are multiplied by such small powers
/// that they need none.
pub(crate) struct Coefficients {
    pub(crate) hi: &'static [f64],
    pub(crate) lo: &'static [f64],
}

impl Formula {
    /// Builds `a * b + c`, rounded once.
    pub(crate) fn mul_add(&mut self, a: Arg, b: Arg, c: Arg) -> Arg {
        self.op(MulAdd, &[a, b, c])
    }

    /// Evaluates the polynomial with these coefficients, constant first, each step rounded once.
    pub(crate) fn horner(&mut self, x: Arg, coefficients: &[f64]) -> Arg {
        let (last, rest) = coefficients.split_last().unwrap_or((&0.0, &[]));
        let mut value = self.c(*last);
        for &coefficient in rest.iter().rev() {
            let c = self.c(coefficient);
            value = self.mul_add(value, x, c);
        }
        value
    }

    /// Returns a pair for a number without rounding error.
    pub(crate) fn single(&self, hi: Arg) -> Pair {
        Pair { hi, lo: None }
    }

    /// Builds a constant with its low part.
    pub(crate) fn pair(&mut self, hi: f64, lo: f64) -> Pair {
        Pair { hi: self.c(hi), lo: (self.exact() && lo != 0.0).then(|| self.c(lo)) }
    }

    /// Adds both parts.
    pub(crate) fn close(&mut self, a: Pair) -> Arg {
        a.lo.map_or(a.hi, |lo| self.add(a.hi, lo))
    }

    pub(crate) fn negative(&mut self, a: Pair) -> Pair {
        Pair { hi: self.op(Neg, &[a.hi]), lo: a.lo.map(|lo| self.op(Neg, &[lo])) }
    }

    /// Adds two optional parts.
    fn rest(&mut self, a: Option<Arg>, b: Option<Arg>) -> Option<Arg> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.add(a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Builds `a + b` with its rounding error, for floats of any size.
    pub(crate) fn sum(&mut self, a: Arg, b: Arg) -> Pair {
        let hi = self.add(a, b);
        if !self.exact() {
            return Pair { hi, lo: None };
        }
        let part = self.sub(hi, a);
        let other = self.sub(hi, part);
        let (lost_a, lost_b) = (self.sub(a, other), self.sub(b, part));
        Pair { hi, lo: Some(self.add(lost_a, lost_b)) }
    }

    /// Builds `a + b` with its rounding error, for `|a| >= |b|`.
    fn sum_by_size(&mut self, a: Arg, b: Arg) -> Pair {
        let hi = self.add(a, b);
        if !self.exact() {
            return Pair { hi, lo: None };
        }
        let part = self.sub(hi, a);
        Pair { hi, lo: Some(self.sub(b, part)) }
    }

    pub(crate) fn pair_add(&mut self, a: Pair, b: Pair) -> Pair {
        let sum = self.sum(a.hi, b.hi);
        let rest = self.rest(a.lo, b.lo);
        match self.rest(rest, sum.lo) {
            Some(lo) if self.exact() => self.sum_by_size(sum.hi, lo),
            _ => sum,
        }
    }

    pub(crate) fn pair_mul(&mut self, a: Pair, b: Pair) -> Pair {
        let hi = self.mul(a.hi, b.hi);
        if !self.exact() {
            return Pair { hi, lo: None };
        }
        let minus = self.op(Neg, &[hi]);
        let mut lo = self.mul_add(a.hi, b.hi, minus);
        if let Some(part) = b.lo {
            lo = self.mul_add(a.hi, part, lo);
        }
        if let Some(part) = a.lo {
            lo = self.mul_add(part, b.hi, lo);
        }
        Pair { hi, lo: Some(lo) }
    }

    pub(crate) fn pair_div(&mut self, a: Pair, b: Pair) -> Pair {
        let hi = self.div(a.hi, b.hi);
        if !self.exact() {
            return Pair { hi, lo: None };
        }
        let minus = self.op(Neg, &[hi]);
        let mut left = self.mul_add(minus, b.hi, a.hi);
        if let Some(part) = b.lo {
            left = self.mul_add(minus, part, left);
        }
        if let Some(part) = a.lo {
            left = self.add(left, part);
        }
        Pair { hi, lo: Some(self.div(left, b.hi)) }
    }

    /// Builds `1 / a`, to slightly less than twice the precision, with one division.
    pub(crate) fn pair_inverse(&mut self, a: Pair) -> Pair {
        let one = self.c(1.0);
        let hi = self.div(one, a.hi);
        if !self.exact() {
            return Pair { hi, lo: None };
        }
        let minus = self.op(Neg, &[hi]);
        let mut left = self.mul_add(minus, a.hi, one);
        if let Some(part) = a.lo {
            left = self.mul_add(minus, part, left);
        }
        Pair { hi, lo: Some(self.mul(left, hi)) }
    }

    /// Evaluates the polynomial at `x`.
    pub(crate) fn pair_horner(&mut self, x: Pair, coefficients: &Coefficients) -> Pair {
        if !self.exact() {
            let value = self.horner(x.hi, coefficients.hi);
            return self.single(value);
        }
        let (first, rest) = coefficients.hi.split_at(coefficients.lo.len());
        let value = self.horner(x.hi, rest);
        let mut value = self.single(value);
        for (&hi, &lo) in first.iter().zip(coefficients.lo).rev() {
            let (product, c) = (self.pair_mul(value, x), self.pair(hi, lo));
            let sum = self.sum(c.hi, product.hi);
            let rest = self.rest(product.lo, c.lo);
            value = Pair { hi: sum.hi, lo: self.rest(rest, sum.lo) };
        }
        value
    }

    /// Selects `yes` if the comparison of `a` and `b` holds, or else `no`.
    pub(crate) fn pair_choose(&mut self, c: crate::scalar::Comparison, a: Arg, b: Arg, yes: Pair, no: Pair) -> Pair {
        let hi = self.choose(c, a, b, yes.hi, no.hi);
        if yes.lo.is_none() && no.lo.is_none() {
            return Pair { hi, lo: None };
        }
        let zero = self.c(0.0);
        Pair { hi, lo: Some(self.choose(c, a, b, yes.lo.unwrap_or(zero), no.lo.unwrap_or(zero))) }
    }
}
