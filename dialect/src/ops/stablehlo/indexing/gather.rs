//! `gather`: slices of a tensor at start positions from another tensor. Starts are clamped so that slices are in
//! bounds.

use std::ops::Range;

use super::{SliceDims, Words, factors};
use crate::eval::{Context, EvalResult};
use crate::ir::build::Builder;
use crate::ir::{DYNAMIC, Op, OpRef, Shape, TensorType, Value};
use crate::kernel::{External, Index, Kernel};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::op::{Inferred, OpDef};
use crate::ops::stablehlo::shape::copy_nest;
use crate::ops::support::constraint::{
    Checked, agreeing, ints, is_static, length, one, operand_count, rearrange, require, show, tensor,
};
use crate::sharding::{ReductionKind, ShardingRule};

/// `gather`: <https://openxla.org/stablehlo/spec#gather>
pub struct Gather;

/// `dynamic_gather`, with the sizes of slices as an operand: <https://openxla.org/stablehlo/spec#dynamic_gather>
pub struct DynamicGather;

/// The slices that a `gather` reads. Operand 0 is sliced, operand 1 has the indices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GatherDims {
    /// The relation between the dimensions of operand, indices and result.
    pub dims: SliceDims,
    /// Size of a slice in every operand dimension.
    pub sizes: Vec<i64>,
}

pub(super) const WORDS: Words = Words {
    attr: "dimension_numbers",
    window: ("offset_dims", "C4", "C5"),
    collapsed: ("collapsed_slice_dims", "C7", "C8"),
    operand_batching: ("operand_batching_dims", "C11"),
    indices_batching: ("start_indices_batching_dims", "C13", "C14"),
    index_map: ("start_index_map", "C3", "C18", "C19"),
    taken: "C6",
    rank: "C1",
    vector: "C2",
    vector_batching: "C15",
    batching_count: "C16",
    batching_size: "C17",
};

impl GatherDims {
    /// Returns the slices of a `gather`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Gather.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<Self> {
        operand_count(op, 2)?;
        let (operand, indices) = (tensor(op, 0)?, tensor(op, 1)?);
        require!(indices.element.is_integer(), operand = 1, "expected integers, found {} (I2)", show(op, indices));
        let dims = SliceDims::check(op, operand, 1, &WORDS)?;
        Self { dims, sizes: ints(op, "slice_sizes")? }.within(operand)
    }

    /// Checks that the slices fit into an operand of this type.
    fn within(self, operand: &TensorType) -> Checked<Self> {
        let Self { dims, sizes } = &self;
        length(sizes, operand.rank(), "slice_sizes", "C20")?;
        for (d, (&n, &size)) in sizes.iter().zip(&operand.shape).enumerate() {
            let fits = 0 <= n && (n <= size || size < 0);
            require!(fits, "expected slice_sizes in 0..={size} in dimension {d}, found {n} (C21)");
        }
        for (list, label) in [(&dims.collapsed, "C9"), (&dims.operand_batching, "C12")] {
            for &d in list {
                let fits = sizes[d] <= 1;
                require!(fits, "expected slice_sizes of at most 1 in dimension {d}, found {} ({label})", sizes[d]);
            }
        }
        Ok(self)
    }

    /// Returns the slices of `operand`.
    fn evaluate(&self, operand: &Literal, indices: &Literal) -> Literal {
        let shape = self.dims.slices_shape(&indices.shape, &self.sizes);
        rearrange(operand, &shape, |at| {
            let (offset, start) = self.dims.locate(at, operand.shape.len(), indices);
            let position: Shape = (0..offset.len())
                .map(|d| offset[d] + start[d].clamp(0, i128::from(operand.shape[d] - self.sizes[d])) as i64)
                .collect();
            (operand, operand.position(&position))
        })
    }
}

impl OpDef for Gather {
    fn name(&self) -> &'static str {
        "stablehlo.gather"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let gather = GatherDims::check(op)?;
        // (C22), (C23)
        let shape = gather.dims.slices_shape(&tensor(op, 1)?.shape, &gather.sizes);
        let ty = TensorType::new(&shape, tensor(op, 0)?.element);
        if is_static(op) { one(ty) } else { agreeing(op, &[ty], "C22") }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Some(gather), true) = (GatherDims::of(op), is_static(op)) else { return Kernel::None };
        let (Some(operand), Some(indices), Some(result)) =
            (op.operand_tensor(0), op.operand_tensor(1), op.result_tensor(0))
        else {
            return Kernel::None;
        };
        let dims = &gather.dims;
        let mut position = vec![Index::Const(0); operand.rank()];
        for (&d, &to) in dims.window.iter().zip(&dims.operand_window) {
            position[to] = Index::Loop(d);
        }
        for (&to, &d) in dims.operand_batching.iter().zip(&dims.indices_batching) {
            position[to] = Index::Loop(dims.batch[dims.batch_number(d)]);
        }
        let mut table: Vec<Index> = vec![Index::Const(0); indices.rank()];
        for (k, &d) in dims.batch.iter().enumerate() {
            table[dims.indices_dim(k)] = Index::Loop(d);
        }
        for (component, &to) in dims.index_map.iter().enumerate() {
            let last = operand.shape[to] - gather.sizes[to];
            if last > 0 {
                if let Some(i) = table.get_mut(dims.index_vector_dim) {
                    *i = Index::Const(component as i64);
                }
                let load = Index::Load { operand: 1, index: table.clone() };
                let start = Index::Clamp(Box::new(load), 0, last);
                position[to] = std::mem::replace(&mut position[to], Index::Const(0)).plus(start);
            }
        }
        copy_nest(result, position)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, true)
    }

    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        rule(op, false)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        super::local::gather(cx);
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![GatherDims::check(op)?.evaluate(&operands[0], &operands[1])])
    }

    fn windowed_operands(&self, _: OpRef<'_>) -> Range<usize> {
        0..1
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            // Rows by index, as in an embedding.
            "(%a: tensor<8x4xf32>, %i: tensor<2x3xi32>) %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>",
            // Batching dimensions, two index components, a leading window dimension.
            "(%a: tensor<2x6x4x3xi32>, %i: tensor<5x2x2xi64>) %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [3, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 4, 2>}> : (tensor<2x6x4x3xi32>, tensor<5x2x2xi64>) -> tensor<4x5x2x2xi32>",
            // Windows that extend over several shards, in the order of the batch.
            "(%a: tensor<6x8x3xi32>, %i: tensor<2x4xi32>) %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 2, 3], start_index_map = [1, 0], index_vector_dim = 0>, indices_are_sorted = false, slice_sizes = array<i64: 2, 5, 3>}> : (tensor<6x8x3xi32>, tensor<2x4xi32>) -> tensor<2x4x5x3xi32>",
            // A position without an index is the first one.
            "(%a: tensor<6x4xf32>, %i: tensor<3xi32>) %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<6x4xf32>, tensor<3xi32>) -> tensor<3xf32>",
            // A window of one position that keeps its dimension.
            "(%a: tensor<6x4xf32>, %i: tensor<3x1xui32>) %r = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<6x4xf32>, tensor<3x1xui32>) -> tensor<3x1x4xf32>",
        ]
    }

    /// Returns a sum, because a device that doesn't hold a slice contributes zeros.
    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }
}

/// Returns the rule along which devices compute if `exact`, otherwise Shardy's rule.
fn rule(op: OpRef<'_>, exact: bool) -> Option<ShardingRule> {
    let gather = GatherDims::of(op)?;
    let (operand, indices, result) = (op.operand_tensor(0)?, op.operand_tensor(1)?, op.result_tensor(0)?);
    let mut rule = ShardingRule::of_op(op);
    for f in factors(&gather.dims, &operand.shape, &indices.shape, &result.shape, None, exact) {
        let operands: Vec<(usize, usize)> =
            f.operand.map(|d| (0, d)).into_iter().chain(f.indices.map(|d| (1, d))).collect();
        let results: Vec<(usize, usize)> = f.slices.map(|d| (0, d)).into_iter().collect();
        let factor = rule.add(f.size, f.kind, &operands, &results);
        if f.blocked {
            rule.block(factor);
        }
    }
    Some(rule)
}

impl DynamicGather {
    fn dims(op: OpRef<'_>) -> Checked<SliceDims> {
        operand_count(op, 3)?;
        let (operand, indices, sizes) = (tensor(op, 0)?, tensor(op, 1)?, tensor(op, 2)?);
        for (i, ty) in [(1, indices), (2, sizes)] {
            require!(ty.element.is_integer(), operand = i, "expected integers, found {} (I{})", show(op, ty), i + 1);
        }
        let fits = sizes.rank() == 1 && (sizes.shape[0] < 0 || sizes.shape[0] == operand.rank() as i64);
        require!(fits, operand = 2, "expected {} slice_sizes, found {} (C11)", operand.rank(), show(op, sizes));
        SliceDims::check(op, operand, 1, &WORDS)
    }
}

impl OpDef for DynamicGather {
    fn name(&self) -> &'static str {
        "stablehlo.dynamic_gather"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (dims, operand) = (Self::dims(op)?, tensor(op, 0)?);
        let known = op.constant_operand(2).and_then(Literal::to_ints);
        let decided = known.is_some() && is_static(op);
        let sizes = match known {
            Some(sizes) => GatherDims { dims: dims.clone(), sizes }.within(operand)?.sizes,
            None => vec![DYNAMIC; operand.rank()],
        };
        // (C12), (C13)
        let ty = TensorType::new(&dims.slices_shape(&tensor(op, 1)?.shape, &sizes), operand.element);
        if decided { one(ty) } else { agreeing(op, &[ty], "C13") }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        if is_static(op) { Kernel::External(External::Reference) } else { Kernel::None }
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let gather = GatherDims { dims: Self::dims(op)?, sizes: operands[2].to_ints().unwrap_or_default() };
        Ok(vec![gather.within(&operands[0].ty())?.evaluate(&operands[0], &operands[1])])
    }

    fn expand(&self, op: Op, b: &mut Builder<'_>) -> Option<Vec<Value>> {
        let view = b.program.view(op);
        let sizes = view.constant_operand(2).and_then(Literal::to_ints).filter(|_| is_static(view))?;
        let numbers = view.attr_id(WORDS.attr)?;
        let (operands, result) = (view.operands()[..2].to_vec(), view.result_type_ids());
        let sizes = b.program.attr_i64s(&sizes);
        let attrs = [(WORDS.attr, numbers), ("slice_sizes", sizes)];
        let op = b.op(&Gather, &operands, &result, &attrs);
        Some(b.program.results(op).collect())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<8x4xf32>, %i: tensor<2x3xi32>) %s = stablehlo.constant dense<[1, 4]> : tensor<2xi64> %r = \"stablehlo.dynamic_gather\"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>}> : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<2xi64>) -> tensor<2x3x4xf32>",
        ]
    }
}
