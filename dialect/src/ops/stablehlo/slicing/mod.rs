//! Ops that read or replace a box of a tensor: slice, dynamic_slice, dynamic_update_slice.
//!
//! Dynamic starts are clamped so that the box is in bounds. Source: the StableHLO specification; sharding rules as
//! Shardy registers them.

mod local;

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::shape::copy_nest;
use crate::eval::{Context, EvalResult};
use crate::ir::{ElementType, OpRef, Shape, TensorType};
use crate::kernel::{Arg, Body, Guard, Index, Input, Inst, Kernel, Nest, Outside};
use crate::literal::Literal;
use crate::localize::Localize;
use crate::memory::Residence;
use crate::op::{Constancy, Inferred, OpDef, OpPriority};
use crate::ops::support::constraint::{
    Checked, declared, ints, is_static, length, one, operand_count, rearrange, require, row_major, same_element, show,
    strided, tensor,
};
use crate::scalar::{Comparison, Scalar, ScalarOp};
use crate::sharding::{Assembly, AssemblyPiece, FactorKind, ReductionKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Slice, &DynamicSlice, &DynamicUpdateSlice];

/// `slice`: <https://openxla.org/stablehlo/spec#slice>
pub struct Slice;
/// `dynamic_slice`: <https://openxla.org/stablehlo/spec#dynamic_slice>
pub struct DynamicSlice;
/// `dynamic_update_slice`: <https://openxla.org/stablehlo/spec#dynamic_update_slice>
pub struct DynamicUpdateSlice;

/// The positions that `slice` takes of each dimension: `start`, `start + stride`, … below `limit`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceRanges {
    /// First positions.
    pub start: Vec<i64>,
    /// One past the last positions.
    pub limit: Vec<i64>,
    /// Steps, positive.
    pub stride: Vec<i64>,
}

impl SliceRanges {
    /// Returns the ranges of a `slice`; `None` for any other op and if its constraints are violated.
    pub fn of(op: OpRef<'_>) -> Option<Self> {
        (op.name() == Slice.name()).then(|| Self::check(op).ok())?
    }

    fn check(op: OpRef<'_>) -> Checked<Self> {
        let shape = &tensor(op, 0)?.shape;
        let [start, limit, stride] = ["start_indices", "limit_indices", "strides"].map(|name| {
            let values = ints(op, name)?;
            length(&values, shape.len(), name, "C2").map(|()| values)
        });
        Self { start: start?, limit: limit?, stride: stride? }.within(shape)
    }

    /// Checks that these ranges, one for each dimension of `shape`, are in bounds.
    pub(crate) fn within(self, shape: &[i64]) -> Checked<Self> {
        for list in [&self.start, &self.limit, &self.stride] {
            length(list, shape.len(), "start, limit and stride", "C2")?;
        }
        for (d, &size) in shape.iter().enumerate() {
            let (start, limit, stride) = (self.start[d], self.limit[d], self.stride[d]);
            let fits = 0 <= start && start <= limit && (limit <= size || size < 0);
            require!(fits, "expected 0 <= start <= limit <= {size} in dimension {d}, found {start}:{limit} (C3)");
            require!(stride > 0, "expected a positive stride, found {stride} (C4)");
        }
        Ok(self)
    }

    /// Returns the selected elements of `operand`.
    pub(crate) fn evaluate(&self, operand: &Literal) -> Literal {
        let shape: Shape = (0..self.start.len()).map(|d| self.size(d)).collect();
        let from = row_major(&operand.shape);
        let steps: Vec<usize> =
            from.iter().zip(&self.stride).map(|(&step, &stride)| step.wrapping_mul(stride as usize)).collect();
        strided(operand, &shape, operand.position(&self.start), &steps)
    }

    /// Returns the number of positions that dimension `d` keeps.
    pub fn size(&self, d: usize) -> i64 {
        ((self.limit[d] - self.start[d]) as u64).div_ceil(self.stride[d] as u64) as i64
    }
}

impl OpDef for Slice {
    fn name(&self) -> &'static str {
        "stablehlo.slice"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&super::syntax::SLICE)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 1)?;
        let ranges = SliceRanges::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        // (C1), (C5)
        let shape: Shape = (0..ranges.start.len()).map(|d| ranges.size(d)).collect();
        one(TensorType::new(&shape, tensor(op, 0)?.element))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(ranges), Some(result), true) = (SliceRanges::check(op), op.result_tensor(0), is_static(op)) else {
            return Kernel::None;
        };
        let index =
            (0..result.rank()).map(|d| Index::Loop(d).times(ranges.stride[d]).plus(Index::Const(ranges.start[d])));
        copy_nest(result, index)
    }

    fn residence(&self, _: OpRef<'_>) -> Residence {
        Residence::Shared
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        let mut rule = ShardingRule::of_op(op);
        for (d, (&size, &kept)) in operand.shape.iter().zip(&result.shape).enumerate() {
            let kind = if size == kept { FactorKind::PassThrough } else { FactorKind::Permutation };
            rule.add_all(size, kind, d);
        }
        Some(rule)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        let Some(mut ranges) = SliceRanges::of(cx.build.program.view(cx.op)) else { return cx.same_op() };
        let (operand, result) = (cx.operand(0), cx.result(0));
        for (d, dim) in operand.dims.iter().enumerate() {
            if let Some(fetched) = cx.fetched(0, d) {
                ranges.start[d] -= fetched.start;
                ranges.limit[d] = ranges.start[d] + (result.dims[d].size() - 1) * ranges.stride[d] + 1;
            } else if ranges.size(d) == dim.global {
                ranges.limit[d] = dim.size();
            }
        }
        if !cx.fetched.is_empty() && cx.build.tensor(cx.operands[0]).shape == result.shape() {
            return cx.results = vec![cx.operands[0]];
        }
        let lists = [&ranges.start, &ranges.limit].map(|list| cx.build.program.attr_i64s(list));
        cx.same_op_with(&[("start_indices", lists[0]), ("limit_indices", lists[1])]);
    }

    fn assembly(&self, op: OpRef<'_>) -> Option<Assembly> {
        let ranges = SliceRanges::of(op).filter(|r| is_static(op) && r.stride.iter().all(|&s| s == 1))?;
        let shape = &op.operand_tensor(0)?.shape;
        let mut moved = (0..shape.len()).filter(|&d| ranges.size(d) != shape[d]);
        let (dim, None) = (moved.next()?, moved.next()) else { return None };
        let (start, count) = (ranges.start[dim], ranges.size(dim));
        let piece = AssemblyPiece { operand: 0, start, count, reversed: false };
        Some(Assembly { dim, sizes: smallvec![Some(shape[dim])], pieces: smallvec![piece] })
    }

    fn is_windowed(&self) -> bool {
        true
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(vec![SliceRanges::check(op)?.evaluate(&operands[0])])
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Preserving
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %r = stablehlo.slice %a [0:4, 1:5] : (tensor<4x6xf32>) -> tensor<4x4xf32>",
            "(%a: tensor<5x8xi32>) %r = stablehlo.slice %a [1:5:3, 0:8:2] : (tensor<5x8xi32>) -> tensor<2x4xi32>",
            "(%a: tensor<f32>) %r = stablehlo.slice %a [] : (tensor<f32>) -> tensor<f32>",
        ]
    }
}

/// Checks that the operands from `first` on are `rank` scalar integers of one type.
fn check_starts(op: OpRef<'_>, first: usize, rank: usize, labels: (&str, &str)) -> Checked<()> {
    let found = op.operands().len().saturating_sub(first);
    require!(found == rank, "expected {rank} start indices, found {found} ({})", labels.0);
    for i in first..first + rank {
        let ty = tensor(op, i)?;
        let fits = ty.rank() == 0 && ty.element.is_integer();
        require!(fits, operand = i, "expected an integer tensor of rank 0, found {} (I2)", show(op, ty));
        same_element(op, i, first, labels.1)?;
    }
    Ok(())
}

/// Returns evaluated start indices, clamped so that a box of `sizes` is within `shape`.
fn clamped_starts(starts: &[Literal], shape: &[i64], sizes: &[i64]) -> Shape {
    let start = |d: usize| match starts[d].splat_value() {
        Some(Scalar::Int(v)) => v.clamp(0, i128::from((shape[d] - sizes[d]).max(0))) as i64,
        _ => 0,
    };
    (0..shape.len().min(sizes.len())).map(start).collect()
}

/// Returns the start index of dimension `d`, from operand `operand`, clamped so that `size` positions fit into `whole`.
fn start_index(operand: usize, whole: i64, size: i64) -> Index {
    if whole == size {
        return Index::Const(0);
    }
    Index::Clamp(Box::new(Index::Load { operand, index: Vec::new() }), 0, whole - size)
}

impl DynamicSlice {
    fn sizes(op: OpRef<'_>) -> Checked<Vec<i64>> {
        let shape = &tensor(op, 0)?.shape;
        let sizes = ints(op, "slice_sizes")?;
        length(&sizes, shape.len(), "slice_sizes", "C2")?;
        for (d, (&n, &size)) in sizes.iter().zip(shape).enumerate() {
            let fits = 0 <= n && (n <= size || size < 0);
            require!(fits, "expected slice_sizes in 0..={size} in dimension {d}, found {n} (C4)");
        }
        Ok(sizes)
    }
}

impl OpDef for DynamicSlice {
    fn name(&self) -> &'static str {
        "stablehlo.dynamic_slice"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("sizes", Piece::Ints("slice_sizes"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let operand = tensor(op, 0)?;
        check_starts(op, 1, operand.rank(), ("C2", "C3"))?;
        // (C1), (C5)
        let result = TensorType::new(&Self::sizes(op)?, operand.element);
        if is_static(op) { one(result) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(sizes), Some(operand), Some(result)) = (Self::sizes(op), op.operand_tensor(0), op.result_tensor(0))
        else {
            return Kernel::None;
        };
        if !is_static(op) {
            return Kernel::None;
        }
        let index = (0..result.rank()).map(|d| Index::Loop(d).plus(start_index(1 + d, operand.shape[d], sizes[d])));
        copy_nest(result, index)
    }

    /// Returns shared memory, because a device contributes the positions that it holds.
    fn residence(&self, _: OpRef<'_>) -> Residence {
        Residence::Shared
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        let mut rule = ShardingRule::of_op(op);
        for (d, (&size, &kept)) in operand.shape.iter().zip(&result.shape).enumerate() {
            if size == kept {
                rule.add_all(size, FactorKind::PassThrough, d);
            } else {
                rule.add(size, FactorKind::Reduction, &[(0, d)], &[]);
                rule.add(kept, FactorKind::NeedReplication, &[], &[(0, d)]);
            }
        }
        Some(rule)
    }

    /// Returns Shardy's rule, which has one factor for a dimension of which only a part is read.
    fn propagation_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        let mut rule = ShardingRule::of_op(op);
        for (d, (&size, &kept)) in operand.shape.iter().zip(&result.shape).enumerate() {
            if size == kept {
                rule.add_all(size, FactorKind::PassThrough, d);
            } else {
                let f = rule.add_all(size, FactorKind::NeedReplication, d);
                rule.block(f);
            }
        }
        Some(rule)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        local::slice(cx);
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let sizes = Self::sizes(op)?;
        let operand = &operands[0];
        let start = clamped_starts(&operands[1..], &operand.shape, &sizes);
        Ok(vec![strided(operand, &sizes, operand.position(&start), &row_major(&operand.shape))])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::FirstForward
    }

    /// Returns a sum, because a device that doesn't hold a position contributes zeros.
    fn reduction(&self, _: OpRef<'_>) -> Option<ReductionKind> {
        Some(ReductionKind::Sum)
    }

    fn windowed_operands(&self, _: OpRef<'_>) -> Range<usize> {
        0..1
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>, %i: tensor<i32>, %j: tensor<i32>) %r = stablehlo.dynamic_slice %a, %i, %j, sizes = [4, 2] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>",
            "(%a: tensor<6x8xi32>, %i: tensor<i64>, %j: tensor<i64>) %r = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 5] : (tensor<6x8xi32>, tensor<i64>, tensor<i64>) -> tensor<1x5xi32>",
            "(%a: tensor<5xi32>, %i: tensor<ui8>) %r = stablehlo.dynamic_slice %a, %i, sizes = [3] : (tensor<5xi32>, tensor<ui8>) -> tensor<3xi32>",
        ]
    }
}

impl OpDef for DynamicUpdateSlice {
    fn name(&self) -> &'static str {
        "stablehlo.dynamic_update_slice"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (operand, update) = (tensor(op, 0)?, tensor(op, 1)?);
        same_element(op, 1, 0, "C2")?;
        let fits = update.rank() == operand.rank();
        require!(fits, operand = 1, "expected rank {}, found {} (C3)", operand.rank(), show(op, update));
        check_starts(op, 2, operand.rank(), ("C4", "C5"))?;
        for (d, (&n, &size)) in update.shape.iter().zip(&operand.shape).enumerate() {
            let fits = n <= size || size < 0;
            require!(fits, operand = 1, "expected at most {size} in dimension {d}, found {} (C6)", show(op, update));
        }
        // (C1)
        if is_static(op) { one(operand.clone()) } else { declared(op) }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Some(operand), Some(update)) = (op.operand_tensor(0), op.operand_tensor(1)) else { return Kernel::None };
        if !is_static(op) || operand.rank() != update.rank() || op.operands().len() != 2 + operand.rank() {
            return Kernel::None;
        }
        let element = operand.element;
        let mut body = Body { inputs: vec![element, element], ..Body::default() };
        let mut inside: Option<Arg> = None;
        let mut index: SmallVec<[Index; 4]> = smallvec![];
        let mut guards = Vec::new();
        for (d, (&n, &size)) in update.shape.iter().zip(&operand.shape).enumerate() {
            if n == size {
                index.push(Index::Loop(d));
                continue;
            }
            let at = Index::Loop(d).plus(start_index(2 + d, size, n).times(-1));
            guards.push(Guard { index: at.clone(), lo: 0, hi: n });
            index.push(at.clone());
            let at = body.push(Inst::Index(at, ElementType::I64));
            for (comparison, bound) in [(Comparison::Ge, 0), (Comparison::Lt, n)] {
                let bound = body.push(Inst::Const(Scalar::Int(i128::from(bound)), ElementType::I64));
                let holds = body.op(ScalarOp::Compare(comparison), &[at, bound], ElementType::I1);
                let both = |other| body.op(ScalarOp::And, &[other, holds], ElementType::I1);
                inside = Some(inside.map_or(holds, both));
            }
        }
        let value = match inside {
            Some(inside) => body.op(ScalarOp::Select, &[inside, Arg::Input(1), Arg::Input(0)], element),
            None => Arg::Input(1),
        };
        body.results = vec![value];
        let outside = (!guards.is_empty()).then(|| Outside::Const(Scalar::zero(element)));
        Kernel::Nest(Nest::over(
            &operand.shape,
            vec![Input::at(0, 0..operand.rank()), Input { operand: 1, index, guards, outside }],
            body,
        ))
    }

    fn residence(&self, _: OpRef<'_>) -> Residence {
        Residence::Updated
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, update) = (op.operand_tensor(0)?, op.operand_tensor(1)?);
        let mut rule = ShardingRule::of_op(op);
        let constant = (2..op.operands().len()).all(|i| op.constant_operand(i).is_some());
        for (d, (&size, &n)) in operand.shape.iter().zip(&update.shape).enumerate() {
            if size == n {
                rule.add_all(size, FactorKind::PassThrough, d);
            } else {
                // Every device replaces the positions in its shard, and needs the whole update for that.
                rule.add(size, FactorKind::PassThrough, &[(0, d)], &[(0, d)]);
                let kind = if constant { FactorKind::PassThrough } else { FactorKind::NeedReplication };
                rule.add(n, kind, &[(1, d)], &[]);
            }
        }
        Some(rule)
    }

    fn localize(&self, cx: &mut Localize<'_>) {
        local::update(cx);
    }

    fn evaluate(&self, _: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (operand, update) = (&operands[0], &operands[1]);
        let start = clamped_starts(&operands[2..], &operand.shape, &update.shape);
        Ok(vec![rearrange(operand, &operand.shape, |at| {
            let from: Shape = at.iter().zip(&start).map(|(&i, &s)| i - s).collect();
            if from.iter().zip(&update.shape).all(|(i, n)| (0..*n).contains(i)) {
                (update, update.position(&from))
            } else {
                (operand, operand.position(at))
            }
        })])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::FirstForward
    }

    fn windowed_operands(&self, _: OpRef<'_>) -> Range<usize> {
        0..1
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>, %u: tensor<4x2xf32>, %i: tensor<i32>, %j: tensor<i32>) %r = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<4x6xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>",
            "(%a: tensor<8xi32>, %u: tensor<1xi32>, %i: tensor<i64>) %r = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xi32>, tensor<1xi32>, tensor<i64>) -> tensor<8xi32>",
            "(%a: tensor<6x8xi32>, %u: tensor<3x5xi32>, %i: tensor<i64>, %j: tensor<i64>) %r = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<6x8xi32>, tensor<3x5xi32>, tensor<i64>, tensor<i64>) -> tensor<6x8xi32>",
        ]
    }
}
