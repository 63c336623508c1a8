//! The properties of an op that fusion decisions are based on, derived from its loop nest.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use smallvec::SmallVec;

use crate::ir::{ElementType, OpRef, TensorType};
use crate::kernel::{Affine, Contraction, Index, Init, Input, Inst, Kernel, Nest, Outside};
use crate::scalar::ScalarOp;
use crate::sharding::Assembly;

/// The properties of an op that is a loop nest.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// The number of times its body runs.
    pub iterations: u64,
    /// The number of elements of its result.
    pub elements: u64,
    /// The bytes of its result.
    pub bytes: u64,
    /// The number of instructions it adds to a kernel.
    pub weight: u32,
    /// Whether each element of its only result is computed independently: no loop reduces.
    pub maps: bool,
    /// Whether it only moves elements or has no inputs, so that its cost is that of computing an index.
    pub copies: bool,
    /// Whether it is a product, which reads each element so often that its operands must be in memory.
    pub product: bool,
    /// Whether it is a product or an outer product.
    pub multiplies: bool,
    /// The operands that are read through overlapping windows, each element several times.
    pub windowed: SmallVec<[u32; 2]>,
    /// Whether it can be compiled to machine code. A kernel is compiled completely or not at all.
    pub compiled: bool,
    /// The elements it reads in each iteration.
    pub reads: SmallVec<[Read; 3]>,
    /// The operands whose elements determine read positions; they are always in memory.
    pub positions: SmallVec<[u32; 2]>,
}

/// An element that a nest reads in every iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Read {
    /// The operand.
    pub operand: u32,
    /// Bytes of the whole operand.
    pub bytes: u64,
    /// The element: 0 for the one at the loops' position, otherwise a hash of the index expressions.
    pub map: u64,
}

/// The map of the element at the loops' position.
pub(super) const SAME: u64 = 0;

/// The map of the only element of a rank-0 tensor, where there are loops.
pub(super) const SCALAR: u64 = 1;

impl Facts {
    /// Returns the properties of `op`; `None` for ops that always read and write memory: matrix products that a library
    /// computes, assemblies of many pieces, and everything that isn't a loop nest over tensors of static shape.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        if Assembly::of_many(op).is_some() {
            return None;
        }
        match op.def().kernel(op) {
            Kernel::Nest(nest) if op.def().constant(op).is_none() => Self::of_nest(op, &nest),
            _ => None,
        }
    }

    /// Returns the same as [`Facts::of`] for an op, not a constant, whose loop nest the caller has.
    pub fn of_nest(op: OpRef<'_>, nest: &Nest) -> Option<Self> {
        // An outer product reduces nothing: each element is one multiplication, as in an elementwise op.
        let contraction = Contraction::of(nest);
        let multiplies = contraction.is_some();
        let product = contraction.filter(|_| nest.loops.len() > nest.parallel);
        if product.as_ref().is_some_and(|p| is_even(p, nest, op)) {
            return None;
        }
        let tensors = (0..op.operands().len()).map(|i| op.operand_tensor(i));
        let mut all = tensors.chain((0..op.result_count()).map(|i| op.result_tensor(i)));
        if !all.all(|t| t.is_some_and(TensorType::is_static)) {
            return None;
        }
        let count = |loops: &[i64]| loops.iter().fold(1u64, |n, &size| n.saturating_mul(size.max(0) as u64));
        let bytes = |t: Option<&TensorType>| t.and_then(TensorType::bytes).unwrap_or(0) as u64;
        let read =
            |operand: usize, map: u64| Read { operand: operand as u32, bytes: bytes(op.operand_tensor(operand)), map };
        let mut reads: SmallVec<[Read; 3]> = SmallVec::new();
        for input in &nest.inputs {
            reads.push(read(input.operand, map_of(input, nest.loops.len())));
            if let Some(Outside::Operand(i)) = input.outside {
                reads.push(read(i, SCALAR));
            }
        }
        let start = |init: &Init| if let Init::Operand(i) = init { Some(*i) } else { None };
        reads.extend(nest.init.iter().filter_map(start).map(|i| read(i, SCALAR)));
        Some(Self {
            iterations: count(&nest.loops),
            elements: count(&nest.loops[..nest.parallel]),
            bytes: bytes(op.result_tensor(0)),
            weight: nest.body.insts.len().max(nest.inputs.len()).max(1) as u32,
            maps: op.result_count() == 1 && nest.loops.len() == nest.parallel,
            copies: copies(nest),
            product: product.is_some(),
            multiplies,
            windowed: windowed(nest),
            compiled: is_compiled(op, nest),
            reads,
            positions: positions(nest),
        })
    }

    /// Returns whether an operand is read only by the body and doesn't determine read positions.
    pub fn reads_plainly(&self, operand: u32) -> bool {
        !self.product && !self.positions.contains(&operand)
    }
}

/// Returns whether a product reads both operands with constant strides, so that a library can multiply them in place.
fn is_even(product: &Contraction, nest: &Nest, op: OpRef<'_>) -> bool {
    let [lhs, rhs] = [0, 1].map(|i| op.operand_tensor(nest.inputs[i].operand));
    matches!((lhs, rhs), (Some(l), Some(r)) if product.strides(nest, [&l.shape, &r.shape]).is_some())
}

/// Returns a number for the element that an input reads under this many loops.
fn map_of(input: &Input, loops: usize) -> u64 {
    if input.guards.is_empty() {
        let same = |(i, index): (usize, &Index)| *index == Index::Loop(i);
        match input.index.len() {
            n if n == loops && input.index.iter().enumerate().all(same) => return SAME,
            0 => return SCALAR,
            _ => {}
        }
    }
    let mut hasher = FxHasher::default();
    (&input.index, &input.guards).hash(&mut hasher);
    hasher.finish().max(SCALAR + 1)
}

/// Returns the operands that index expressions load, without duplicates.
fn positions(nest: &Nest) -> SmallVec<[u32; 2]> {
    let note = |index: &Index, found: &mut SmallVec<[u32; 2]>| {
        index.loads(&mut |operand, _| {
            if !found.contains(&(operand as u32)) {
                found.push(operand as u32);
            }
        });
    };
    let mut found = SmallVec::new();
    for input in &nest.inputs {
        input.index.iter().for_each(|i| note(i, &mut found));
        input.guards.iter().for_each(|g| note(&g.index, &mut found));
    }
    for inst in &nest.body.insts {
        if let Inst::Index(index, _) = inst {
            note(index, &mut found);
        }
    }
    found
}

/// Returns the operands of which consecutive iterations read the same elements, in a dimension in which one loop moves
/// windows and another moves inside a window.
fn windowed(nest: &Nest) -> SmallVec<[u32; 2]> {
    if nest.loops.len() == nest.parallel {
        return SmallVec::new();
    }
    let ranges = nest.ranges();
    let overlaps = |index: &&Index| {
        let at = Affine::of(index, &ranges);
        let moved = |l: &usize| at.loops[*l] != 0 && nest.loops[*l] > 1;
        let outer = (0..nest.parallel).filter(moved).map(|l| at.loops[l].saturating_abs()).min();
        let inner = (nest.parallel..nest.loops.len()).filter(moved);
        let reach = inner.map(|l| at.loops[l].saturating_abs().saturating_mul(nest.loops[l])).max();
        outer.zip(reach).is_some_and(|(stride, reach)| reach > stride)
    };
    let found = nest.inputs.iter().filter(|i| i.index.iter().any(|x| overlaps(&x)));
    found.map(|i| i.operand as u32).collect()
}

/// Returns whether the nest only moves elements or has no inputs.
fn copies(nest: &Nest) -> bool {
    let cheap = |inst: &Inst| match inst {
        Inst::Const(..) | Inst::Index(..) => true,
        Inst::Op { op, .. } => matches!(op, ScalarOp::Convert | ScalarOp::Neg | ScalarOp::Not),
    };
    nest.inputs.len() <= 1
        && nest.body.insts.len() <= 1
        && nest.body.insts.iter().all(cheap)
        && nest.loops.len() == nest.parallel
        && positions(nest).is_empty()
}

/// Returns whether the runtime can compile the nest's types and operations.
fn is_compiled(op: OpRef<'_>, nest: &Nest) -> bool {
    let known = |t: Option<&TensorType>| t.is_some_and(|t| has_code(t.element));
    let tensors = (0..op.operands().len()).map(|i| op.operand_tensor(i));
    let mut all = tensors.chain((0..op.result_count()).map(|i| op.result_tensor(i)));
    all.all(known)
        && nest.body.insts.iter().all(|inst| match inst {
            Inst::Const(_, ty) | Inst::Index(_, ty) => has_code(*ty),
            Inst::Op { op, args, ty } => {
                let from = match (op, args.first()) {
                    (ScalarOp::Select, _) => *ty,
                    (_, Some(&a)) => nest.body.arg_type(a),
                    _ => *ty,
                };
                operation_has_code(*op, from, *ty)
            }
        })
}

/// Returns whether machine code loads, stores and computes elements of this type.
pub fn has_code(element: ElementType) -> bool {
    use ElementType::*;
    element.is_float() || matches!(element, I1 | I8 | UI8 | I16 | UI16 | I32 | UI32 | I64 | UI64 | C64 | C128)
}

/// Returns whether the runtime has machine code for a scalar operation from one element type to another.
pub fn operation_has_code(op: ScalarOp, from: ElementType, to: ElementType) -> bool {
    use ScalarOp::*;
    if !has_code(from) || !has_code(to) {
        return false;
    }
    match op {
        CompareTotal(_) | ReducePrecision { .. } => from.is_float(),
        Bitcast if from.is_complex() || to.is_complex() => false,
        Bitcast => from.bits() == to.bits() && from.bits() >= 8 && !matches!(from, ElementType::I1),
        Pow => from.is_float() || from.is_complex(),
        _ => true,
    }
}
