//! Rewrites kernels of complex numbers as kernels of real ones: a complex node becomes its real and its imaginary part,
//! and a tensor of complex numbers becomes a tensor of real numbers whose last dimension has both parts.

use dialect::id::TiVec;
use dialect::ir::ElementType;
use dialect::kernel::Index;
use dialect::scalar::{Comparison, Scalar, ScalarOp};
use smallvec::{SmallVec, smallvec};

use crate::execute::fuse::fused::{Accumulator, Fused, Node, NodeData};

mod formulas;
mod reals;

use reals::Reals;

/// The replacement of a node of the complex kernel in the real one: one node, or its two parts.
type Parts = SmallVec<[Node; 2]>;

/// Returns the kernel with complex numbers split into parts; `None` if it has none. A complex result stays one result,
/// whose two parts are consecutive in [`Fused::results`].
pub(super) fn split(kernel: &Fused) -> Option<Fused> {
    let buffers = kernel.buffers.iter().map(|b| b.1);
    let mut types = buffers.chain(kernel.nodes.iter().map(|n| n.1)).chain(kernel.outputs.iter().map(|o| o.element));
    if !types.any(ElementType::is_complex) {
        return None;
    }
    let mut real = kernel.frame();
    for (_, element, shape) in real.buffers.iter_mut().filter(|b| b.1.is_complex()) {
        *element = element.part();
        shape.push(2);
    }
    let mut first = Vec::new();
    let mut count = 0;
    for accumulator in &kernel.accumulators {
        first.push(count);
        count += if kernel.ty(accumulator.init).is_complex() { 2 } else { 1 };
    }
    let mut splitter = Splitter { kernel, real, first, parts: TiVec::default() };
    for (data, ty) in &kernel.nodes {
        let parts = splitter.node(data, *ty);
        splitter.parts.push(parts);
    }
    let Splitter { mut real, parts, .. } = splitter;
    for accumulator in &kernel.accumulators {
        let both = parts[accumulator.init].iter().zip(&parts[accumulator.next]);
        real.accumulators.extend(both.map(|(&init, &next)| Accumulator { init, next }));
    }
    real.results = kernel.results.iter().flat_map(|&r| parts[r].iter().copied()).collect();
    Some(real)
}

struct Splitter<'a> {
    kernel: &'a Fused,
    real: Fused,
    /// For each accumulator of the complex kernel, the index of its first accumulator in the real one.
    first: Vec<usize>,
    parts: TiVec<Node, Parts>,
}

impl Splitter<'_> {
    fn node(&mut self, data: &NodeData, ty: ElementType) -> Parts {
        let part = ty.part();
        let count = if ty.is_complex() { 2 } else { 1 };
        match data {
            NodeData::Const(Scalar::Complex(re, im)) => {
                let value = |v: f64| NodeData::Const(Scalar::Float(v).round(part));
                smallvec![self.real.node(value(*re), part), self.real.node(value(*im), part)]
            }
            NodeData::Const(_) | NodeData::Index(_) => {
                let mut parts: Parts = smallvec![self.real.node(data.clone(), part)];
                if ty.is_complex() {
                    parts.push(self.real.node(NodeData::Const(Scalar::Float(0.0)), part));
                }
                parts
            }
            NodeData::Accumulator(i) => {
                let first = self.first[*i];
                (0..count).map(|p| self.real.node(NodeData::Accumulator(first + p), part)).collect()
            }
            NodeData::Guarded { guards, then, otherwise } => {
                let both: Vec<(Node, Node)> =
                    self.parts[*then].iter().copied().zip(self.parts[*otherwise].iter().copied()).collect();
                let guarded = |(then, otherwise)| NodeData::Guarded { guards: guards.clone(), then, otherwise };
                both.into_iter().map(|pair| self.real.node(guarded(pair), part)).collect()
            }
            NodeData::Load { buffer, index, guards, outside } => (0..count)
                .map(|p| {
                    let outside = outside.map(|o| self.parts[o][p]);
                    let mut index = index.clone();
                    if ty.is_complex() {
                        index.push(Index::Const(p as i64));
                    }
                    self.real.node(NodeData::Load { buffer: *buffer, index, guards: guards.clone(), outside }, part)
                })
                .collect(),
            NodeData::Op(op, args) => {
                let from = args.get(usize::from(*op == ScalarOp::Select)).map_or(ty, |&a| self.kernel.ty(a));
                let parts: SmallVec<[Parts; 3]> = args.iter().map(|&a| self.parts[a].clone()).collect();
                self.operation(*op, from, ty, &parts)
            }
        }
    }

    /// Applies `op` to operands in parts. The operands, except a select's predicate, have type `from`.
    fn operation(&mut self, op: ScalarOp, from: ElementType, ty: ElementType, args: &[Parts]) -> Parts {
        let part = ty.part();
        if !from.is_complex() && !ty.is_complex() {
            let args = args.iter().map(|a| a[0]).collect();
            return smallvec![self.real.node(NodeData::Op(op, args), ty)];
        }
        let mut reals = Reals::new(&mut self.real, from.part());
        let number = |i: usize| (args[i][0], args[i][args[i].len() - 1]);
        match op {
            ScalarOp::Real => smallvec![args[0][0]],
            ScalarOp::Imag => smallvec![args[0][1]],
            ScalarOp::Complex => smallvec![args[0][0], args[1][0]],
            ScalarOp::Select => {
                (0..2).map(|p| reals.op(ScalarOp::Select, &[args[0][0], args[1][p], args[2][p]])).collect()
            }
            ScalarOp::Convert => {
                let count = if ty.is_complex() { 2 } else { 1 };
                let mut parts: Parts = args[0].iter().take(count).map(|&p| reals.convert(p, part)).collect();
                if parts.len() < count {
                    parts.push(self.real.node(NodeData::Const(Scalar::Float(0.0)), part));
                }
                parts
            }
            ScalarOp::Compare(comparison) => {
                smallvec![compare(&mut reals, comparison, number(0), number(1))]
            }
            ScalarOp::Abs => {
                let size = reals.in_double(number(0), |reals, z| reals.modulus(z));
                smallvec![reals.convert(size, part)]
            }
            ScalarOp::Max | ScalarOp::Min => {
                let first = pick(&mut reals, op == ScalarOp::Max, number(0), number(1));
                (0..2).map(|p| reals.op(ScalarOp::Select, &[first, args[0][p], args[1][p]])).collect()
            }
            ScalarOp::Neg | ScalarOp::Add | ScalarOp::Sub => {
                (0..2).map(|p| reals.op(op, &args.iter().map(|a| a[p]).collect::<Parts>())).collect()
            }
            ScalarOp::Mul => {
                let (re, im) = reals.product(number(0), number(1));
                smallvec![re, im]
            }
            _ => {
                let (re, im) = reals.function(op, number(0), args.get(1).map(|_| number(1)));
                smallvec![reals.convert(re, part), reals.convert(im, part)]
            }
        }
    }
}

/// Compares by real parts, then by imaginary parts. If any part is NaN, only "not equal" holds.
fn compare(reals: &mut Reals<'_>, comparison: Comparison, a: (Node, Node), b: (Node, Node)) -> Node {
    let ((ar, ai), (br, bi)) = (a, b);
    let equal = reals.is(Comparison::Eq, ar, br);
    match comparison {
        Comparison::Eq | Comparison::Ne => {
            let parts = [reals.is(comparison, ar, br), reals.is(comparison, ai, bi)];
            reals.truth(if comparison == Comparison::Eq { ScalarOp::And } else { ScalarOp::Or }, &parts)
        }
        _ => {
            let strict = match comparison {
                Comparison::Lt | Comparison::Le => Comparison::Lt,
                _ => Comparison::Gt,
            };
            let before = reals.is(strict, ar, br);
            let then = reals.is(comparison, ai, bi);
            let tied = reals.truth(ScalarOp::And, &[equal, then]);
            let holds = reals.truth(ScalarOp::Or, &[before, tied]);
            let ordered = [reals.is(Comparison::Eq, ai, ai), reals.is(Comparison::Eq, bi, bi)];
            let ordered = reals.truth(ScalarOp::And, &ordered);
            reals.truth(ScalarOp::And, &[holds, ordered])
        }
    }
}

/// Selects the larger (or smaller) number. A number with a NaN part wins.
fn pick(reals: &mut Reals<'_>, larger: bool, a: (Node, Node), b: (Node, Node)) -> Node {
    let mut nan = |z: (Node, Node)| {
        let parts = [reals.is(Comparison::Ne, z.0, z.0), reals.is(Comparison::Ne, z.1, z.1)];
        reals.truth(ScalarOp::Or, &parts)
    };
    let (a_nan, b_nan) = (nan(a), nan(b));
    let before = compare(reals, if larger { Comparison::Gt } else { Comparison::Lt }, a, b);
    let b_number = reals.truth(ScalarOp::Not, &[b_nan]);
    let before = reals.truth(ScalarOp::And, &[before, b_number]);
    reals.truth(ScalarOp::Or, &[a_nan, before])
}
