//! A loop nest seen as a product of two tensors: the loops that index both operands, those that index one, those that
//! are summed over, and the dimensions that are read through windows.
//!
//! The contraction is derived from the nest alone, so that matrix multiplication and cost estimates treat matrix
//! products, einsums and convolutions in the same way.

use smallvec::{SmallVec, smallvec};

use super::{Affine, Arg, Body, Guard, Index, Init, Input, Inst, Nest};
use crate::ir::ElementType;
use crate::scalar::ScalarOp;

/// The role of a loop in a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Both operands and the result are indexed by it.
    Batch,
    /// Only the left operand and the result are indexed by it: rows. (Or neither operand.)
    Left,
    /// Only the right operand and the result are indexed by it: columns.
    Right,
    /// It is summed over.
    Contracted,
}

/// A dimension of an operand that is read at `(stride * outer + dilation * inner + offset) / divisor`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The input of the nest.
    pub input: usize,
    /// The dimension of the input.
    pub dim: usize,
    /// The loop over windows.
    pub outer: usize,
    /// The loop inside a window: a contracted loop.
    pub inner: usize,
    /// Distance between windows.
    pub stride: i64,
    /// Distance between the positions inside a window; negative in a reversed window.
    pub dilation: i64,
    /// The start of the first window; negative in padding, where guards skip the read.
    pub offset: i64,
    /// Number of positions per element; positions between elements aren't read.
    pub divisor: i64,
}

/// A nest that multiplies two inputs and adds over its reduction loops.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contraction {
    /// The role of each loop.
    pub roles: SmallVec<[Role; 6]>,
    /// The dimensions that are read through windows.
    pub windows: SmallVec<[Window; 2]>,
}

impl Contraction {
    /// Returns the product that `nest` computes. An elementwise product doesn't count: the nest must have a reduction
    /// loop, or both a left and a right loop.
    pub fn of(nest: &Nest) -> Option<Self> {
        let [left, right] = &nest.inputs[..] else { return None };
        let zero = |init: &Init| matches!(init, Init::Const(c) if c.is_zero());
        if !nest.body.is_product() || !nest.init.iter().all(zero) || [left, right].iter().any(|i| is_indirect(i)) {
            return None;
        }
        let reads = |input: &Input, l: usize| input.index.iter().any(|i| i.depends_on(l));
        let role = |l: usize| match (l < nest.parallel, reads(left, l), reads(right, l)) {
            (false, ..) => Role::Contracted,
            (true, true, true) => Role::Batch,
            (true, _, false) => Role::Left,
            (true, false, true) => Role::Right,
        };
        let roles: SmallVec<[Role; 6]> = (0..nest.loops.len()).map(role).collect();
        let has = |role| roles.contains(&role);
        (has(Role::Contracted) || has(Role::Left) && has(Role::Right)).then(|| Self { windows: windows(nest), roles })
    }

    /// Iterates over the loops of a role, outermost first.
    pub fn loops(&self, role: Role) -> impl Iterator<Item = usize> {
        self.roles.iter().enumerate().filter(move |r| *r.1 == role).map(|r| r.0)
    }

    /// Returns the product of the trip counts of all loops of a role. Saturates.
    pub fn size(&self, nest: &Nest, role: Role) -> u64 {
        self.loops(role).fold(1, |n: u64, l| n.saturating_mul(nest.loops[l].max(0) as u64))
    }

    /// Returns the stride of each loop in the two operands, which are row-major of these shapes, and the offset of the
    /// first position. `None` if an operand isn't read with constant strides.
    pub fn strides(&self, nest: &Nest, shapes: [&[i64]; 2]) -> Option<[Affine; 2]> {
        let ranges = nest.ranges();
        let strides = |i: usize| {
            let input = &nest.inputs[i];
            let inside = |g: &Guard| {
                let positions = g.index.positions(&ranges);
                positions.first >= g.lo && positions.last < g.hi
            };
            let offset = Affine::offset(&input.index, shapes[i], &ranges);
            (offset.is_affine() && input.guards.iter().all(inside)).then_some(offset)
        };
        Some([strides(0)?, strides(1)?])
    }
}

fn is_indirect(input: &Input) -> bool {
    input.index.iter().any(|i| i.any(|x| matches!(x, Index::Load { .. })))
}

fn windows(nest: &Nest) -> SmallVec<[Window; 2]> {
    let mut found = SmallVec::new();
    let ranges = nest.ranges();
    for (i, input) in nest.inputs.iter().enumerate() {
        for (dim, index) in input.index.iter().enumerate() {
            let (at, divisor) = match index {
                Index::Loop(_) | Index::Const(_) => continue,
                Index::FloorDiv(at, by) => (&**at, *by),
                at => (at, 1),
            };
            let at = Affine::of(at, &ranges);
            let loops: SmallVec<[usize; 2]> = (0..at.loops.len()).filter(|&l| at.loops[l] != 0).collect();
            if let &[outer, inner] = &loops[..]
                && outer < nest.parallel
                && inner >= nest.parallel
                && at.is_affine()
            {
                let (stride, dilation) = (at.loops[outer], at.loops[inner]);
                found.push(Window { input: i, dim, outer, inner, stride, dilation, offset: at.constant, divisor });
            }
        }
    }
    found
}

/// Returns the element type in which products are multiplied and added, before rounding to the result's type: the
/// widest.
pub fn product_type(lhs: ElementType, rhs: ElementType, result: ElementType) -> ElementType {
    let rank = |e: ElementType| (e.is_complex(), e.is_float(), e.bits());
    [lhs, rhs].into_iter().fold(result, |widest, e| if rank(e) > rank(widest) { e } else { widest })
}

impl Body {
    /// Creates the product of two inputs of these types, added to an accumulator if `reduced`.
    pub fn product(lhs: ElementType, rhs: ElementType, result: ElementType, reduced: bool) -> Self {
        let element = product_type(lhs, rhs, result);
        let mut body = Body { inputs: vec![lhs, rhs], ..Body::default() };
        let convert = |body: &mut Body, arg: Arg, ty: ElementType| match body.arg_type(arg) == ty {
            true => arg,
            false => body.push(Inst::Op { op: ScalarOp::Convert, args: smallvec![arg], ty }),
        };
        if reduced {
            body.accumulators.push(result);
        }
        let a = convert(&mut body, Arg::Input(0), element);
        let b = convert(&mut body, Arg::Input(1), element);
        let mut value = body.push(Inst::Op { op: ScalarOp::Mul, args: smallvec![a, b], ty: element });
        if reduced {
            let sum = convert(&mut body, Arg::Accumulator(0), element);
            value = body.push(Inst::Op { op: ScalarOp::Add, args: smallvec![sum, value], ty: element });
        }
        let value = convert(&mut body, value, result);
        body.results = vec![value];
        body
    }

    /// Returns whether it is the product of its two inputs, in the type of [`product_type`], added to the accumulator
    /// if it has one.
    pub fn is_product(&self) -> bool {
        let (&[lhs, rhs], &[result]) = (&self.inputs[..], &self.results[..]) else { return false };
        if self.accumulators.len() > 1 || !self.insts.iter().any(|i| matches!(i, Inst::Op { op: ScalarOp::Mul, .. })) {
            return false;
        }
        let element = product_type(lhs, rhs, self.arg_type(result));
        let plain = |arg: Arg| self.converted(arg).unwrap_or(arg);
        let binary = |arg: Arg, is: ScalarOp| match arg {
            Arg::Inst(i) => match &self.insts[i] {
                Inst::Op { op, args, ty } if *op == is && *ty == element => {
                    Some([plain(*args.first()?), plain(*args.get(1)?)])
                }
                _ => None,
            },
            _ => None,
        };
        let both = |pair: [Arg; 2], a: Arg| match pair {
            [x, other] | [other, x] if x == a => Some(other),
            _ => None,
        };
        let mut value = Some(plain(result));
        if !self.accumulators.is_empty() {
            value = binary(plain(result), ScalarOp::Add).and_then(|sum| both(sum, Arg::Accumulator(0)));
        }
        let product = value.and_then(|v| binary(v, ScalarOp::Mul));
        product.and_then(|p| both(p, Arg::Input(0))) == Some(Arg::Input(1))
    }

    /// Returns the argument of a conversion.
    fn converted(&self, arg: Arg) -> Option<Arg> {
        let Arg::Inst(i) = arg else { return None };
        match &self.insts[i] {
            Inst::Op { op: ScalarOp::Convert, args, .. } => args.first().copied(),
            _ => None,
        }
    }
}

impl Nest {
    /// Returns the floating-point operations of a product: two per iteration. 0 for other nests.
    pub fn flops(&self) -> f64 {
        match Contraction::of(self) {
            Some(_) => 2.0 * self.loops.iter().map(|&n| n as f64).product::<f64>(),
            None => 0.0,
        }
    }
}

#[cfg(test)]
#[path = "contraction_tests.rs"]
mod tests;
