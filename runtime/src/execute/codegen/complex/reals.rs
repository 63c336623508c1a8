//! Writes operations on real numbers as nodes of a kernel.

use dialect::ir::ElementType;
use dialect::scalar::{Comparison, Scalar, ScalarOp};

use crate::execute::fuse::fused::{Fused, Node, NodeData};

/// A complex number: its real and its imaginary part.
pub(super) type Complex = (Node, Node);

/// Appends real nodes of one type.
pub(super) struct Reals<'a> {
    fused: &'a mut Fused,
    ty: ElementType,
    /// Whether the squares of all numbers are in the range of f64.
    pub(super) narrow: bool,
}

impl<'a> Reals<'a> {
    /// Creates a writer for numbers with parts of type `ty`.
    pub(super) fn new(fused: &'a mut Fused, ty: ElementType) -> Self {
        Self { fused, ty, narrow: ty == ElementType::F32 }
    }

    /// Appends an operation in the working type.
    pub(super) fn op(&mut self, op: ScalarOp, args: &[Node]) -> Node {
        self.fused.node(NodeData::Op(op, args.iter().copied().collect()), self.ty)
    }

    pub(super) fn typed(&mut self, op: ScalarOp, args: &[Node], ty: ElementType) -> Node {
        self.fused.node(NodeData::Op(op, args.iter().copied().collect()), ty)
    }

    /// Appends an operation on booleans.
    pub(super) fn truth(&mut self, op: ScalarOp, args: &[Node]) -> Node {
        self.typed(op, args, ElementType::I1)
    }

    /// Compares two values.
    pub(super) fn is(&mut self, comparison: Comparison, a: Node, b: Node) -> Node {
        self.truth(ScalarOp::Compare(comparison), &[a, b])
    }

    /// Converts `x` to another type.
    pub(super) fn convert(&mut self, x: Node, ty: ElementType) -> Node {
        if self.fused.ty(x) == ty { x } else { self.typed(ScalarOp::Convert, &[x], ty) }
    }

    /// Applies `f` to `z` with f64 as the working type.
    pub(super) fn in_double<T>(&mut self, z: Complex, f: impl FnOnce(&mut Self, Complex) -> T) -> T {
        let ty = std::mem::replace(&mut self.ty, ElementType::F64);
        let z = (self.convert(z.0, ElementType::F64), self.convert(z.1, ElementType::F64));
        let result = f(self, z);
        self.ty = ty;
        result
    }

    pub(super) fn c(&mut self, value: f64) -> Node {
        self.fused.node(NodeData::Const(Scalar::Float(value)), self.ty)
    }

    pub(super) fn int(&mut self, value: i128) -> Node {
        self.fused.node(NodeData::Const(Scalar::Int(value)), ElementType::I64)
    }

    pub(super) fn add(&mut self, a: Node, b: Node) -> Node {
        self.op(ScalarOp::Add, &[a, b])
    }

    pub(super) fn sub(&mut self, a: Node, b: Node) -> Node {
        self.op(ScalarOp::Sub, &[a, b])
    }

    pub(super) fn mul(&mut self, a: Node, b: Node) -> Node {
        self.op(ScalarOp::Mul, &[a, b])
    }

    pub(super) fn div(&mut self, a: Node, b: Node) -> Node {
        self.op(ScalarOp::Div, &[a, b])
    }

    pub(super) fn of(&mut self, op: ScalarOp, x: Node) -> Node {
        self.op(op, &[x])
    }

    pub(super) fn scale(&mut self, x: Node, by: f64) -> Node {
        let by = self.c(by);
        self.mul(x, by)
    }

    pub(super) fn select(&mut self, condition: Node, yes: Node, no: Node) -> Node {
        self.op(ScalarOp::Select, &[condition, yes, no])
    }

    pub(super) fn choose(&mut self, condition: Node, yes: Complex, no: Complex) -> Complex {
        (self.select(condition, yes.0, no.0), self.select(condition, yes.1, no.1))
    }

    pub(super) fn is_to(&mut self, comparison: Comparison, x: Node, constant: f64) -> Node {
        let constant = self.c(constant);
        self.is(comparison, x, constant)
    }

    pub(super) fn is_nan(&mut self, x: Node) -> Node {
        self.is(Comparison::Ne, x, x)
    }

    pub(super) fn is_infinite(&mut self, x: Node) -> Node {
        let magnitude = self.of(ScalarOp::Abs, x);
        self.is_to(Comparison::Eq, magnitude, f64::INFINITY)
    }

    pub(super) fn and(&mut self, a: Node, b: Node) -> Node {
        self.truth(ScalarOp::And, &[a, b])
    }

    pub(super) fn or(&mut self, a: Node, b: Node) -> Node {
        self.truth(ScalarOp::Or, &[a, b])
    }

    pub(super) fn finite(&mut self, z: Complex) -> Node {
        let parts = (self.truth(ScalarOp::IsFinite, &[z.0]), self.truth(ScalarOp::IsFinite, &[z.1]));
        self.and(parts.0, parts.1)
    }

    pub(super) fn infinite(&mut self, z: Complex) -> Node {
        let parts = (self.is_infinite(z.0), self.is_infinite(z.1));
        self.or(parts.0, parts.1)
    }

    /// Returns a nonnegative magnitude with the sign of another f64.
    pub(super) fn with_sign(&mut self, magnitude: Node, of: Node) -> Node {
        let sign = self.int(i64::MIN.into());
        let [magnitude, of] = [magnitude, of].map(|x| self.typed(ScalarOp::Bitcast, &[x], ElementType::I64));
        let sign = self.typed(ScalarOp::And, &[of, sign], ElementType::I64);
        let bits = self.typed(ScalarOp::Or, &[magnitude, sign], ElementType::I64);
        self.typed(ScalarOp::Bitcast, &[bits], ElementType::F64)
    }
}
