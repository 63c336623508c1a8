//! Builds a scalar computation as a formula: a [`Body`] with one working type.

mod bessel;
mod digamma;
mod erf;
mod erf_inv;
mod gamma;
mod inverse;
mod pair;
mod zeta;

use crate::ir::{ElementType, OpRef};
use crate::kernel::{Arg, Body, Inst};
use crate::scalar::{Comparison, Scalar, ScalarOp};

/// A body under construction.
pub(crate) struct Formula {
    body: Body,
    /// The type it computes in.
    ty: ElementType,
    /// Whether results keep the precision of that type.
    exact: bool,
}

/// Returns the body that applies `f` to the op's operand, converting to the working type before and back after.
pub(crate) fn formula(op: OpRef<'_>, f: fn(&mut Formula, Arg) -> Arg) -> Option<Body> {
    of_operands(op, 1, false, &|m, args| f(m, args[0]))
}

/// Returns the same body as [`formula`], with f64 as the working type for every real type.
pub(crate) fn formula_in_double(op: OpRef<'_>, f: fn(&mut Formula, Arg) -> Arg) -> Option<Body> {
    of_operands(op, 1, true, &|m, args| f(m, args[0]))
}

/// Returns the body that applies `f` to the op's two operands.
pub(crate) fn formula_of_two(op: OpRef<'_>, f: fn(&mut Formula, Arg, Arg) -> Arg) -> Option<Body> {
    of_operands(op, 2, false, &|m, args| f(m, args[0], args[1]))
}

fn of_operands(op: OpRef<'_>, count: usize, double: bool, f: &dyn Fn(&mut Formula, &[Arg]) -> Arg) -> Option<Body> {
    let (from, to) = (op.operand_tensor(0)?.element, op.result_tensor(0)?.element);
    let wide = if double { ElementType::F64 } else { ElementType::F32 };
    let ty = if from.is_float() && from != ElementType::F64 { wide } else { from };
    let mut m =
        Formula { body: Body { inputs: vec![from; count], ..Body::default() }, ty, exact: from == ElementType::F64 };
    let args: Vec<Arg> = (0..count).map(|i| m.convert(Arg::Input(i), ty)).collect();
    let result = f(&mut m, &args);
    let result = m.convert(result, to);
    m.body.results = vec![result];
    crate::ops::stablehlo::elementwise::known(&m.body).then_some(m.body)
}

/// Returns the next float after the first operand toward the second: the adjacent bit pattern of the same sign.
pub(crate) fn next_after(op: OpRef<'_>) -> Option<Body> {
    let ty = op.operand_tensor(0)?.element;
    let bits = match ty.bits() {
        8 => ElementType::UI8,
        16 => ElementType::UI16,
        32 => ElementType::UI32,
        64 => ElementType::UI64,
        _ => return None,
    };
    let mut m = Formula { body: Body { inputs: vec![ty, ty], ..Body::default() }, ty, exact: true };
    let (x, y) = (Arg::Input(0), Arg::Input(1));
    let zero = m.c(0.0);
    let is = |m: &mut Formula, c, a, b| m.typed(ScalarOp::Compare(c), &[a, b], ElementType::I1);
    let whole = |m: &mut Formula, v: i128| m.body.push(Inst::Const(Scalar::Int(v), bits));
    let (one, sign) = (whole(&mut m, 1), whole(&mut m, 1 << (ty.bits() - 1)));
    let pattern = m.typed(ScalarOp::Bitcast, &[x], bits);
    let (up, down) = (m.typed(ScalarOp::Add, &[pattern, one], bits), m.typed(ScalarOp::Sub, &[pattern, one], bits));
    // The bit pattern grows away from zero.
    let (rises, positive) = (is(&mut m, Comparison::Gt, y, x), is(&mut m, Comparison::Gt, x, zero));
    let toward = m.typed(ScalarOp::Xor, &[rises, positive], ElementType::I1);
    let moved = m.typed(ScalarOp::Select, &[toward, down, up], bits);
    // From zero, the next float is the smallest number with the sign of the second operand.
    let direction = m.typed(ScalarOp::Bitcast, &[y], bits);
    let direction = m.typed(ScalarOp::And, &[direction, sign], bits);
    let smallest = m.typed(ScalarOp::Or, &[direction, one], bits);
    let at_zero = is(&mut m, Comparison::Eq, x, zero);
    let moved = m.typed(ScalarOp::Select, &[at_zero, smallest, moved], bits);
    let moved = m.typed(ScalarOp::Bitcast, &[moved], ty);
    let there = is(&mut m, Comparison::Eq, x, y);
    let value = m.op(ScalarOp::Select, &[there, y, moved]);
    // A NaN in either operand gives NaN.
    let (a, b) = (is(&mut m, Comparison::Ne, x, x), is(&mut m, Comparison::Ne, y, y));
    let either = m.typed(ScalarOp::Or, &[a, b], ElementType::I1);
    let nan = m.c(f64::NAN);
    let result = m.op(ScalarOp::Select, &[either, nan, value]);
    m.body.results = vec![result];
    crate::ops::stablehlo::elementwise::known(&m.body).then_some(m.body)
}

impl Formula {
    fn convert(&mut self, x: Arg, ty: ElementType) -> Arg {
        if self.body.arg_type(x) == ty { x } else { self.typed(ScalarOp::Convert, &[x], ty) }
    }

    fn typed(&mut self, op: ScalarOp, args: &[Arg], ty: ElementType) -> Arg {
        self.body.op(op, args, ty)
    }

    /// Runs `f` with the part type of the complex working type as the working type.
    pub(crate) fn in_parts<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let ty = self.ty;
        self.ty = ty.part();
        let result = f(self);
        self.ty = ty;
        result
    }

    /// Applies `f` to `x` in f64.
    pub(crate) fn in_double(&mut self, x: Arg, f: impl FnOnce(&mut Self, Arg) -> Arg) -> Arg {
        let ty = std::mem::replace(&mut self.ty, ElementType::F64);
        let x = self.convert(x, ElementType::F64);
        let result = f(self, x);
        self.ty = ty;
        self.convert(result, ty)
    }

    /// Appends an operation in the working type.
    pub(crate) fn op(&mut self, op: ScalarOp, args: &[Arg]) -> Arg {
        self.typed(op, args, self.ty)
    }

    /// Appends an operation whose result is real if the working type is complex.
    pub(crate) fn part(&mut self, op: ScalarOp, x: Arg) -> Arg {
        self.typed(op, &[x], self.ty.part())
    }

    /// Appends a constant.
    pub(crate) fn c(&mut self, value: f64) -> Arg {
        let value = if self.is_complex() { Scalar::Complex(value, 0.0) } else { Scalar::Float(value) };
        self.body.push(Inst::Const(value.round(self.ty), self.ty))
    }

    /// Returns whether it computes with complex numbers.
    pub(crate) fn is_complex(&self) -> bool {
        self.ty.is_complex()
    }

    /// Returns whether the results keep the precision of the working type, and are not rounded to a narrower one.
    pub(crate) fn exact(&self) -> bool {
        self.exact
    }

    /// Returns whether it computes in f64.
    pub(crate) fn is_double(&self) -> bool {
        self.ty == ElementType::F64
    }

    pub(crate) fn add(&mut self, a: Arg, b: Arg) -> Arg {
        self.op(ScalarOp::Add, &[a, b])
    }

    pub(crate) fn sub(&mut self, a: Arg, b: Arg) -> Arg {
        self.op(ScalarOp::Sub, &[a, b])
    }

    pub(crate) fn mul(&mut self, a: Arg, b: Arg) -> Arg {
        self.op(ScalarOp::Mul, &[a, b])
    }

    pub(crate) fn div(&mut self, a: Arg, b: Arg) -> Arg {
        self.op(ScalarOp::Div, &[a, b])
    }

    /// Selects `yes` if the comparison of `a` and `b` holds, or else `no`.
    pub(crate) fn choose(&mut self, comparison: Comparison, a: Arg, b: Arg, yes: Arg, no: Arg) -> Arg {
        let holds = self.typed(ScalarOp::Compare(comparison), &[a, b], ElementType::I1);
        self.op(ScalarOp::Select, &[holds, yes, no])
    }

    /// Compares `x` with `value`.
    pub(crate) fn equals(&mut self, x: Arg, value: f64) -> Arg {
        let value = self.c(value);
        self.typed(ScalarOp::Compare(Comparison::Eq), &[x, value], ElementType::I1)
    }

    /// Returns `value`, which is at least 0, with the sign of `x`; `x` is 0 if `value` is 0.
    pub(crate) fn signed_like(&mut self, value: Arg, x: Arg) -> Arg {
        let sign = self.op(ScalarOp::Sign, &[x]);
        // sign(0) keeps the sign of zero, and 0 times an infinity can't occur: sinh and asinh of 0 are 0.
        self.mul(value, sign)
    }

    /// Builds `(e^x op e^-x) / 2`.
    pub(crate) fn hyperbolic(&mut self, x: Arg, op: ScalarOp) -> Arg {
        let half = self.c(0.5);
        let minus = self.op(ScalarOp::Neg, &[x]);
        let (a, b) = (self.op(ScalarOp::Exp, &[x]), self.op(ScalarOp::Exp, &[minus]));
        let both = self.op(op, &[a, b]);
        self.mul(half, both)
    }

    /// Builds `e^x / 2` if `x` is beyond the limit at which `e^x` is close to overflow, or else `other`.
    pub(crate) fn half_exponential_beyond(&mut self, x: Arg, other: Arg) -> Arg {
        // The shifts are numbers for which e^shift / 2 is almost exactly a float.
        let (limit, shift, factor) =
            if self.is_double() { (709.0, 430.0, 2.789955155893247e186) } else { (88.0, 78.0, 3.7492084984950605e33) };
        let (limit, shift, factor) = (self.c(limit), self.c(shift), self.c(factor));
        let moved = self.sub(x, shift);
        let exponential = self.op(ScalarOp::Exp, &[moved]);
        let large = self.mul(exponential, factor);
        self.choose(Comparison::Lt, x, limit, other, large)
    }

    /// Builds `sqrt((1 - x)(1 + x))`: the other leg of a right triangle with leg x and hypotenuse 1.
    pub(crate) fn other_leg(&mut self, x: Arg) -> Arg {
        let one = self.c(1.0);
        let (a, b) = (self.sub(one, x), self.add(one, x));
        let product = self.mul(a, b);
        self.op(ScalarOp::Sqrt, &[product])
    }

    /// Evaluates the polynomial with these coefficients, highest power first.
    pub(crate) fn polynomial(&mut self, x: Arg, coefficients: &[f64]) -> Arg {
        let mut value = self.c(coefficients.first().copied().unwrap_or(0.0));
        for &coefficient in coefficients.iter().skip(1) {
            let (product, c) = (self.mul(value, x), self.c(coefficient));
            value = self.add(product, c);
        }
        value
    }
}
