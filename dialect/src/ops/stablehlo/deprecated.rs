//! Deprecated ops with newer equivalents that programs still have: broadcast and torch_index_select.
//! Source: <https://openxla.org/stablehlo/spec#deprecated-operations>.

use super::shape::copy_nest;
use crate::eval::{Context, EvalResult};
use crate::ir::{OpRef, Shape, TensorType};
use crate::kernel::{Index, Kernel};
use crate::literal::Literal;
use crate::op::{Constancy, Inferred, OpDef, OpPriority, Problem};
use crate::ops::support::constraint::{
    Checked, declared, int, ints, is_static, one, operand_count, require, show, tensor,
};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&Broadcast, &TorchIndexSelect];

/// `broadcast`: adds leading dimensions.
pub struct Broadcast;
/// `torch_index_select`: slices of one dimension selected by index, optionally with leading batch dimensions.
pub struct TorchIndexSelect;

impl Broadcast {
    fn check(op: OpRef<'_>) -> Checked<Vec<i64>> {
        operand_count(op, 1)?;
        let sizes = ints(op, "broadcast_sizes")?;
        match sizes.iter().find(|&&s| s < 0) {
            Some(size) => Err(Problem::new(format!("expected broadcast_sizes not to be negative, found {size}"))),
            None => Ok(sizes),
        }
    }
}

impl OpDef for Broadcast {
    fn name(&self) -> &'static str {
        "stablehlo.broadcast"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("sizes", Piece::Ints("broadcast_sizes"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let sizes = Self::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let operand = tensor(op, 0)?;
        let shape: Shape = sizes.iter().chain(&operand.shape).copied().collect();
        one(TensorType::new(&shape, operand.element))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        match (Self::check(op), op.result_tensor(0)) {
            (Ok(sizes), Some(result)) if is_static(op) => {
                copy_nest(result, (sizes.len()..result.rank()).map(Index::Loop))
            }
            _ => Kernel::None,
        }
    }

    /// Replaces the added sizes by the device's local sizes.
    fn localize(&self, cx: &mut crate::localize::Localize<'_>) {
        let (shape, rank) = (cx.result(0).shape(), cx.operand(0).dims.len());
        let sizes = cx.build.program.attr_i64s(&shape[..shape.len() - rank]);
        cx.same_op_with(&[("broadcast_sizes", sizes)]);
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let sizes = Self::check(op)?;
        let copies = sizes.iter().try_fold(1usize, |n, &s| n.checked_mul(s as usize));
        let copies = copies.ok_or_else(|| Problem::new("the result has too many elements"))?;
        let shape: Shape = sizes.iter().chain(&operands[0].shape).copied().collect();
        Ok(vec![Literal::from_bytes(operands[0].element, &shape, operands[0].dense_bytes().repeat(copies))])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::BackwardFirst
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Broadcast
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>) %r = stablehlo.broadcast %a, sizes = [4, 2] : (tensor<2x3xf32>) -> tensor<4x2x2x3xf32>",
        ]
    }
}

impl TorchIndexSelect {
    /// Returns the selected dimension and the number of batch dimensions.
    fn check(op: OpRef<'_>) -> Checked<(usize, usize)> {
        operand_count(op, 2)?;
        let (operand, index) = (tensor(op, 0)?, tensor(op, 1)?);
        require!(index.element.is_integer(), operand = 1, "expected integers, found {}", show(op, index));
        let batches = usize::try_from(int(op, "batch_dims")?).unwrap_or(usize::MAX);
        let dim = usize::try_from(int(op, "dim")?).unwrap_or(usize::MAX);
        require!(
            batches <= dim && dim < operand.rank() && batches <= index.rank(),
            "expected 0 <= batch_dims <= dim < the operand's rank, and no more batches than the index has dimensions"
        );
        for d in 0..batches {
            let (a, b) = (operand.shape[d], index.shape[d]);
            require!(a == b || a < 0 || b < 0, operand = 1, "expected size {a} in dimension {d}, found {b}");
        }
        Ok((dim, batches))
    }

    /// Returns the result's shape: the operand's dimensions before `dim`, the index's dimensions after the batches, and
    /// the operand's dimensions after `dim`.
    fn shape(operand: &[i64], index: &[i64], dim: usize, batches: usize) -> Shape {
        operand[..dim].iter().chain(&index[batches..]).chain(&operand[dim + 1..]).copied().collect()
    }
}

impl OpDef for TorchIndexSelect {
    fn name(&self) -> &'static str {
        "stablehlo.torch_index_select"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let (dim, batches) = Self::check(op)?;
        if !is_static(op) {
            return declared(op);
        }
        let operand = tensor(op, 0)?;
        one(TensorType::new(&Self::shape(&operand.shape, &tensor(op, 1)?.shape, dim, batches), operand.element))
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok((dim, batches)), Some(operand), Some(index), Some(result), true) =
            (Self::check(op), op.operand_tensor(0), op.operand_tensor(1), op.result_tensor(0), is_static(op))
        else {
            return Kernel::None;
        };
        let inner = index.rank() - batches;
        let place = (0..batches).chain(dim..dim + inner).map(Index::Loop).collect();
        let load = Index::Load { operand: 1, index: place };
        let selected = Index::Clamp(Box::new(load), 0, (operand.shape[dim] - 1).max(0));
        let mut at: Vec<Index> = (0..dim).map(Index::Loop).collect();
        at.push(selected);
        at.extend((dim + inner..result.rank()).map(Index::Loop));
        copy_nest(result, at)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (dim, batches) = Self::check(op)?;
        let (operand, index) = (&operands[0], &operands[1]);
        let inner = index.shape.len() - batches;
        let shape = Self::shape(&operand.shape, &index.shape, dim, batches);
        if operand.is_empty() && shape.iter().all(|&d| d > 0) {
            return Err(Problem::operand(0, "the operand has no elements to select").into());
        }
        Ok(vec![crate::ops::support::constraint::rearrange(operand, &shape, |at| {
            let place: Shape = at[..batches].iter().chain(&at[dim..dim + inner]).copied().collect();
            let selected =
                index.get(index.position(&place)).as_i64().unwrap_or(i64::MAX).clamp(0, operand.shape[dim] - 1);
            let from: Shape = at[..dim].iter().chain([&selected]).chain(&at[dim + inner..]).copied().collect();
            (operand, operand.position(&from))
        })])
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x6x4xf32>, %i: tensor<2x3xi32>) %r = \"stablehlo.torch_index_select\"(%a, %i) <{batch_dims = 1 : i64, dim = 1 : i64}> : (tensor<2x6x4xf32>, tensor<2x3xi32>) -> tensor<2x3x4xf32>",
        ]
    }
}
