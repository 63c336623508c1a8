//! Writing a scalar computation as a formula: a [`Body`] with one working type.

use crate::ir::{ElementType, OpRef};
use crate::kernel::{Arg, Body, Inst};
use crate::scalar::{Comparison, Scalar, ScalarOp};

/// A body being written.
pub(crate) struct Formula {
    body: Body,
    /// The type it computes in.
    ty: ElementType,
}

/// The body of `f` over the op's operands: converted to the working type before, back after.
pub(crate) fn formula(op: OpRef<'_>, f: fn(&mut Formula, Arg) -> Arg) -> Option<Body> {
    let (from, to) = (op.operand_tensor(0)?.element, op.result_tensor(0)?.element);
    let ty = if from.is_float() && from != ElementType::F64 { ElementType::F32 } else { from };
    let mut m = Formula { body: Body { inputs: vec![from], ..Body::default() }, ty };
    let x = m.convert(Arg::Input(0), ty);
    let result = f(&mut m, x);
    let result = m.convert(result, to);
    m.body.results = vec![result];
    super::known(&m.body).then_some(m.body)
}

impl Formula {
    fn convert(&mut self, x: Arg, ty: ElementType) -> Arg {
        if self.body.arg_type(x) == ty { x } else { self.typed(ScalarOp::Convert, &[x], ty) }
    }

    fn typed(&mut self, op: ScalarOp, args: &[Arg], ty: ElementType) -> Arg {
        self.body.push(Inst::Op { op, args: args.iter().copied().collect(), ty })
    }

    /// An operation in the working type.
    pub(crate) fn op(&mut self, op: ScalarOp, args: &[Arg]) -> Arg {
        self.typed(op, args, self.ty)
    }

    /// An operation that gives the real part's type of a complex working type.
    pub(crate) fn part(&mut self, op: ScalarOp, x: Arg) -> Arg {
        self.typed(op, &[x], crate::complex::part(self.ty))
    }

    /// A constant.
    pub(crate) fn c(&mut self, value: f64) -> Arg {
        let value = if self.is_complex() { Scalar::Complex(value, 0.0) } else { Scalar::Float(value) };
        self.body.push(Inst::Const(value.round(self.ty), self.ty))
    }

    /// Whether it computes with complex numbers.
    pub(crate) fn is_complex(&self) -> bool {
        self.ty.is_complex()
    }

    /// Whether it computes in f64.
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

    /// `yes` where the comparison of `a` and `b` holds, else `no`.
    pub(crate) fn choose(&mut self, comparison: Comparison, a: Arg, b: Arg, yes: Arg, no: Arg) -> Arg {
        let holds = self.typed(ScalarOp::Compare(comparison), &[a, b], ElementType::I1);
        self.op(ScalarOp::Select, &[holds, yes, no])
    }

    /// Whether `x` is `value`.
    pub(crate) fn equals(&mut self, x: Arg, value: f64) -> Arg {
        let value = self.c(value);
        self.typed(ScalarOp::Compare(Comparison::Eq), &[x, value], ElementType::I1)
    }

    /// `value`, at least 0, with the sign of `x`, which is 0 where `value` is.
    pub(crate) fn signed_like(&mut self, value: Arg, x: Arg) -> Arg {
        let sign = self.op(ScalarOp::Sign, &[x]);
        // sign(0) is 0 with its own sign, and 0 times an infinity can't occur: sinh and asinh of 0 are 0.
        self.mul(value, sign)
    }

    /// `(e^x op e^-x) / 2`
    pub(crate) fn hyperbolic(&mut self, x: Arg, op: ScalarOp) -> Arg {
        let half = self.c(0.5);
        let minus = self.op(ScalarOp::Neg, &[x]);
        let (a, b) = (self.op(ScalarOp::Exp, &[x]), self.op(ScalarOp::Exp, &[minus]));
        let both = self.op(op, &[a, b]);
        self.mul(half, both)
    }

    /// `sqrt((1 - x)(1 + x))`: the other leg of a right triangle of hypotenuse 1.
    pub(crate) fn other_leg(&mut self, x: Arg) -> Arg {
        let one = self.c(1.0);
        let (a, b) = (self.sub(one, x), self.add(one, x));
        let product = self.mul(a, b);
        self.op(ScalarOp::Sqrt, &[product])
    }

    /// The polynomial of these coefficients, the highest power's first.
    pub(crate) fn polynomial(&mut self, x: Arg, coefficients: &[f64]) -> Arg {
        let mut value = self.c(coefficients.first().copied().unwrap_or(0.0));
        for &coefficient in coefficients.iter().skip(1) {
            let (product, c) = (self.mul(value, x), self.c(coefficient));
            value = self.add(product, c);
        }
        value
    }
}
