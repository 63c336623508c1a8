//! Finds gathers whose users are products, and products whose sums are scattered.

use std::rc::Rc;

use dialect::ir::{Block, ElementType, Op, OpRef, Program, TensorType, Ty, Value, ValueSource};
use dialect::kernel::{Body, Contraction, Index, Input, Kernel};
use dialect::op::CollectiveKind;
use dialect::scalar::ScalarOp;
use dialect::sharding::{Axes, Mesh, axis};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::heuristics::HEURISTICS;

/// The collective of a product that is decomposed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Side {
    /// The all_gather of an operand.
    Gather,
    /// The reduce_scatter of the result.
    Scatter,
    /// The all_reduce of the result: the ring scatters it, and a gather follows.
    Reduce,
}

/// A product of two tensors, and the dimensions that one of its loops runs over.
#[derive(Clone, Debug)]
pub(super) struct Product {
    /// The op.
    pub(super) op: Op,
    /// The dimension of each operand.
    pub(super) operands: [Option<usize>; 2],
    /// The dimension of the result; `None` where the loop is reduced.
    pub(super) result: Option<usize>,
}

/// A collective that a ring of permutes between partial products can replace.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) side: Side,
    pub(super) collective: Op,
    /// The products; only a gather may have several.
    pub(super) products: SmallVec<[Product; 1]>,
    /// The axes along which the ring goes.
    pub(super) axes: Axes,
    /// The number of devices of a ring.
    pub(super) devices: i64,
    /// The positions in a group in the order of the ring; `None` for the group's own order.
    pub(super) order: Option<Rc<[i64]>>,
    /// The same number for candidates that look alike, which share one decision.
    pub(super) class: usize,
}

impl Candidate {
    /// Returns the position in a group of the ring's device `i`.
    pub(super) fn place(&self, i: i64) -> i64 {
        self.order.as_ref().map_or(i, |order| order[i as usize])
    }
}

/// A product's operand types and result type, and the dimensions of its loop in the operands and in the result.
type ProductClass = (Ty, Ty, Ty, [Option<usize>; 2], Option<usize>);

/// The properties that candidates of one class share.
#[derive(PartialEq, Eq, Hash)]
struct Class(Side, Axes, Ty, Vec<ProductClass>);

/// Returns all candidates in the order of the program.
pub(super) fn candidates(program: &Program, mesh: &Mesh) -> Vec<Candidate> {
    let uses = Uses::of(program);
    let mut classes: FxHashMap<Class, usize> = FxHashMap::default();
    let mut found = Vec::new();
    for block in program.blocks_under(program.body()) {
        for &op in program.block_ops(block) {
            let Some(mut candidate) = candidate(program, mesh, &uses, block, op) else { continue };
            let ty = |v: Value| program.value_type(v);
            let of = |p: &Product| {
                let operands = &program.op(p.op).operands;
                (ty(operands[0]), ty(operands[1]), ty(program.result(p.op, 0)), p.operands, p.result)
            };
            let products = candidate.products.iter().map(of).collect();
            let given = ty(program.result(op, 0));
            let next = classes.len();
            let class = Class(candidate.side, candidate.axes.clone(), given, products);
            candidate.class = *classes.entry(class).or_insert(next);
            found.push(candidate);
        }
    }
    found
}

fn candidate(program: &Program, mesh: &Mesh, uses: &Uses, block: Block, op: Op) -> Option<Candidate> {
    let view = program.view(op);
    let collective = view.def().collective(view)?;
    let side = match collective.kind {
        CollectiveKind::AllGather => Side::Gather,
        CollectiveKind::ReduceScatter => Side::Scatter,
        CollectiveKind::AllReduce => Side::Reduce,
        _ => return None,
    };
    let &[operand] = view.operands() else { return None };
    let axes = Axes::from_slice(collective.groups.axes_of(mesh)?);
    let devices = axis::size_of(&axes);
    let result = program.result(op, 0);
    let products: SmallVec<[Product; 1]> = match side {
        Side::Gather => {
            let readers = uses.within(result, block)?;
            let mut products = SmallVec::new();
            for &reader in readers {
                products.push(Product::reading(program.view(reader), result, collective.dim)?);
            }
            products
        }
        Side::Scatter | Side::Reduce => {
            let ValueSource::Result(product, _) = program.value_source(operand) else { return None };
            let element = program.tensor_type(operand)?.element;
            let is_sum = collective.computation == Some(Body::of(ScalarOp::Add, &[element; 2], element));
            if !is_sum || uses.within(operand, block)? != [op] || uses.blocks.get(&product) != Some(&block) {
                return None;
            }
            let dim = match side {
                Side::Reduce => divided(program.tensor_type(operand)?, devices)?,
                _ => collective.dim,
            };
            SmallVec::from_iter([Product::making(program.view(product), dim)?])
        }
    };
    let fits = (2..=HEURISTICS.most_ring_devices).contains(&devices) && !products.is_empty();
    fits.then_some(Candidate { side, collective: op, products, axes, devices, order: None, class: 0 })
}

/// Returns the largest dimension that this many devices divide.
pub(crate) fn divided(ty: &TensorType, devices: i64) -> Option<usize> {
    let divided = (0..ty.rank()).filter(|&d| ty.shape[d] > 0 && ty.shape[d] % devices == 0);
    divided.max_by_key(|&d| (ty.shape[d], std::cmp::Reverse(d)))
}

impl Product {
    /// Returns the product of `gathered`, read once, with another tensor, and the dimensions of the loop over its
    /// dimension `dim`.
    fn reading(op: OpRef<'_>, gathered: Value, dim: usize) -> Option<Self> {
        let which = match op.operands() {
            &[a, b] if (a == gathered) != (b == gathered) => usize::from(b == gathered),
            _ => return None,
        };
        Self::of(op, |inputs, _| match inputs[which].index.get(dim)? {
            Index::Loop(l) => Some(*l),
            _ => None,
        })
    }

    /// Returns a product, and the dimensions of the loop over dimension `dim` of the result.
    fn making(op: OpRef<'_>, dim: usize) -> Option<Self> {
        Self::of(op, |_, parallel| (dim < parallel).then_some(dim))
    }

    fn of(op: OpRef<'_>, which: impl FnOnce([&Input; 2], usize) -> Option<usize>) -> Option<Self> {
        let Kernel::Nest(nest) = op.def().kernel(op) else { return None };
        Contraction::of(&nest)?;
        let [a, b] = &nest.inputs[..] else { return None };
        let inputs = if a.operand == 0 { [a, b] } else { [b, a] };
        if inputs.iter().enumerate().any(|(i, input)| input.operand != i || !input.guards.is_empty()) {
            return None;
        }
        let l = which(inputs, nest.parallel)?;
        let mut operands = [None; 2];
        for (i, input) in inputs.iter().enumerate() {
            let mut dims = input.index.iter().enumerate().filter(|x| x.1.depends_on(l));
            operands[i] = match (dims.next(), dims.next()) {
                (None, _) => None,
                (Some((d, Index::Loop(_))), None) => Some(d),
                _ => return None,
            };
        }
        let result = (l < nest.parallel).then_some(l);
        (operands != [None; 2]).then_some(Self { op: op.op, operands, result })
    }
}

/// The users of each value.
struct Uses {
    readers: FxHashMap<Value, Vec<Op>>,
    /// The block of each op.
    blocks: FxHashMap<Op, Block>,
}

impl Uses {
    fn of(program: &Program) -> Self {
        let mut uses = Self { readers: FxHashMap::default(), blocks: FxHashMap::default() };
        for block in program.blocks_under(program.body()) {
            for &op in program.block_ops(block) {
                uses.blocks.insert(op, block);
                for &value in &program.op(op).operands {
                    uses.readers.entry(value).or_default().push(op);
                }
            }
        }
        uses
    }

    /// Returns the users of a value, if all are in this block; a user that reads it twice is listed twice.
    fn within(&self, value: Value, block: Block) -> Option<&[Op]> {
        let readers = self.readers.get(&value)?;
        readers.iter().all(|r| self.blocks.get(r) == Some(&block)).then_some(readers)
    }
}

/// Returns the element type in which partial products are added: sums of narrow floats would be rounded once per
/// device.
pub(super) fn sum_type(element: ElementType) -> ElementType {
    if element.is_float() && element.bits() < 32 { ElementType::F32 } else { element }
}
