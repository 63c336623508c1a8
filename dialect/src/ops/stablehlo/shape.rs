//! Ops that move elements without changing them, each result dimension from one operand dimension: broadcast_in_dim,
//! transpose, reverse. Reshape is in a separate file, [`reshape`](super::reshape).
//!
//! Source: the StableHLO specification; sharding rules as Shardy registers them.

use smallvec::smallvec;

use crate::eval::{Context, EvalResult};
use crate::ir::{OpRef, Shape, TensorType};
use crate::kernel::{Body, Index, Input, Kernel, Nest};
use crate::literal::Literal;
use crate::memory::Residence;
use crate::op::{Constancy, Inferred, OpDef, OpPriority};
use crate::ops::support::constraint::{
    Checked, agreeing, declared, dims, ints, is_static, one, operand_count, rearrange, require, result, row_major,
    show, strided, tensor, unique,
};
use crate::sharding::{Assembly, AssemblyPiece, FactorKind, ShardingRule};
use crate::text::{Piece, Syntax, TypeForm};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&BroadcastInDim, &Transpose, &Reverse];

/// `broadcast_in_dim`: <https://openxla.org/stablehlo/spec#broadcast_in_dim>
pub struct BroadcastInDim;
/// `transpose`: <https://openxla.org/stablehlo/spec#transpose>
pub struct Transpose;
/// `reverse`: <https://openxla.org/stablehlo/spec#reverse>
pub struct Reverse;

/// Returns a nest that copies operand 0 from `index` into a result of `ty`.
pub(crate) fn copy_nest(ty: &TensorType, index: impl IntoIterator<Item = Index>) -> Kernel {
    Kernel::Nest(Nest::over(&ty.shape, vec![Input::of(0, index)], Body::copy(ty.element)))
}

impl BroadcastInDim {
    fn dims(op: OpRef<'_>, rank: usize) -> Checked<Vec<usize>> {
        dims(&ints(op, "broadcast_dimensions")?, rank, "broadcast_dimensions", "C3")
    }

    fn check(op: OpRef<'_>) -> Checked<TensorType> {
        operand_count(op, 1)?;
        let (operand, result) = (tensor(op, 0)?, result(op, 0)?);
        // The scales of quantized elements may move with a dimension; the verifier compares them.
        let base = |ty: &TensorType| crate::ir::Quantized::of(op.program, ty.element).map(|q| (q.storage, q.expressed));
        let same = operand.element == result.element || base(operand).is_some() && base(operand) == base(result);
        require!(same, "expected the operand's element type in {} (C1)", show(op, result));
        let dims = Self::dims(op, result.rank())?;
        let fits = dims.len() == operand.rank();
        require!(fits, "expected {} broadcast_dimensions, found {} (C2)", operand.rank(), dims.len());
        unique(&dims, "broadcast_dimensions", "C4")?;
        for (d, &to) in dims.iter().enumerate() {
            let (from, to_size) = (operand.shape[d], result.shape[to]);
            require!(
                from == 1 || from == to_size || from < 0 || to_size < 0,
                operand = 0,
                "{want}, found {from} (C5)",
                want = format!("expected dimension {d} to have size 1 or {to_size} (result dimension {to})")
            );
        }
        Ok(result.clone())
    }
}

impl OpDef for BroadcastInDim {
    fn name(&self) -> &'static str {
        "stablehlo.broadcast_in_dim"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("dims", Piece::Ints("broadcast_dimensions"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        one(Self::check(op)?)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Some(operand), Some(result)) = (op.operand_tensor(0), op.result_tensor(0)) else { return Kernel::None };
        match Self::dims(op, result.rank()) {
            Ok(dims) if is_static(op) && dims.len() == operand.rank() => {
                let index = dims.iter().enumerate().map(|(d, &to)| match operand.shape[d] {
                    1 if result.shape[to] != 1 => Index::Const(0),
                    _ => Index::Loop(to),
                });
                copy_nest(result, index)
            }
            _ => Kernel::None,
        }
    }

    fn residence(&self, op: OpRef<'_>) -> Residence {
        // Dimensions of size 1 are added; a scalar that becomes a tensor, or what is repeated, is written anew.
        let elements = |t: Option<&TensorType>| t.filter(|t| t.rank() > 0).map(|t| t.shape.iter().product::<i64>());
        let (from, to) = (elements(op.operand_tensor(0)), elements(op.result_tensor(0)));
        if from.is_some() && from == to { Residence::Shared } else { Residence::Computed }
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (operand, result) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        let dims = Self::dims(op, result.rank()).ok()?;
        let mut rule = ShardingRule::of_op(op);
        for (to, &size) in result.shape.iter().enumerate() {
            let from = dims.iter().position(|&d| d == to).filter(|&d| d < operand.rank());
            match from {
                // One element becomes many, so their dimension isn't tied to the operand's.
                Some(d) if operand.shape[d] == 1 && size != 1 => {
                    rule.add(1, FactorKind::PassThrough, &[(0, d)], &[]);
                    rule.add(size, FactorKind::PassThrough, &[], &[(0, to)]);
                }
                Some(d) => {
                    rule.add(size, FactorKind::PassThrough, &[(0, d)], &[(0, to)]);
                }
                None => {
                    rule.add(size, FactorKind::PassThrough, &[], &[(0, to)]);
                }
            }
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (operand, result) = (&operands[0], result(op, 0)?);
        let dims = Self::dims(op, result.rank())?;
        if let Some(value) = operand.splat_value() {
            return Ok(vec![Literal::splat(operand.element, &result.shape, value)]);
        }
        let from = row_major(&operand.shape);
        let mut steps = vec![0; result.rank()];
        for ((&d, &size), from) in dims.iter().zip(&operand.shape).zip(from) {
            steps[d] = if size == 1 { 0 } else { from };
        }
        Ok(vec![strided(operand, &result.shape, 0, &steps)])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::BackwardFirst
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::Broadcast
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x3xf32>) %r = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>",
            "(%a: tensor<1x2xi32>) %r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : (tensor<1x2xi32>) -> tensor<2x4x6xi32>",
            "(%a: tensor<f32>) %r = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<f32>) -> tensor<4x2xf32>",
            "(%a: tensor<1x4xf32>) %r = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<1x4xf32>",
        ]
    }
}

impl Transpose {
    fn permutation(op: OpRef<'_>) -> Checked<Vec<usize>> {
        let rank = tensor(op, 0)?.rank();
        let permutation = dims(&ints(op, "permutation")?, rank, "permutation", "C2")?;
        require!(permutation.len() == rank, "expected a permutation of {rank} dimensions, found {permutation:?} (C2)");
        unique(&permutation, "permutation", "C2")?;
        Ok(permutation)
    }
}

impl OpDef for Transpose {
    fn name(&self) -> &'static str {
        "stablehlo.transpose"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("dims", Piece::Ints("permutation"))], TypeForm::Functional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 1)?;
        let operand = tensor(op, 0)?;
        // (C1), (C3)
        let shape: Shape = Self::permutation(op)?.iter().map(|&d| operand.shape[d]).collect();
        let ty = TensorType::new(&shape, operand.element);
        if is_static(op) { one(ty) } else { agreeing(op, &[ty], "C3") }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(permutation), Some(result)) = (Self::permutation(op), op.result_tensor(0)) else { return Kernel::None };
        if !is_static(op) {
            return Kernel::None;
        }
        let mut index = vec![Index::Const(0); permutation.len()];
        for (to, &from) in permutation.iter().enumerate() {
            index[from] = Index::Loop(to);
        }
        copy_nest(result, index)
    }

    fn residence(&self, _: OpRef<'_>) -> Residence {
        Residence::Shared
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let operand = op.operand_tensor(0)?;
        let mut rule = ShardingRule::of_op(op);
        for (to, &from) in Self::permutation(op).ok()?.iter().enumerate() {
            rule.add(operand.shape[from], FactorKind::PassThrough, &[(0, from)], &[(0, to)]);
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let permutation = Self::permutation(op)?;
        let operand = &operands[0];
        let shape: Shape = permutation.iter().map(|&d| operand.shape[d]).collect();
        if let Some(value) = operand.splat_value() {
            return Ok(vec![Literal::splat(operand.element, &shape, value)]);
        }
        let from = row_major(&operand.shape);
        let steps: Vec<usize> = permutation.iter().map(|&d| from[d]).collect();
        Ok(vec![strided(operand, &shape, 0, &steps)])
    }

    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::First
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<2x4x6xf32>) %r = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<2x4x6xf32>) -> tensor<6x2x4xf32>",
            "(%a: tensor<4x2xi32>) %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x2xi32>) -> tensor<2x4xi32>",
        ]
    }
}

impl Reverse {
    fn dims(op: OpRef<'_>) -> Checked<Vec<usize>> {
        let dims = dims(&ints(op, "dimensions")?, tensor(op, 0)?.rank(), "dimensions", "C3")?;
        unique(&dims, "dimensions", "C2")?;
        Ok(dims)
    }
}

impl OpDef for Reverse {
    fn name(&self) -> &'static str {
        "stablehlo.reverse"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Keys(&[("dims", Piece::Ints("dimensions"))], TypeForm::SameOrFunctional)
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 1)?;
        Self::dims(op)?;
        if !is_static(op) {
            return declared(op);
        }
        // (C1)
        one(tensor(op, 0)?.clone())
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        let (Ok(dims), Some(result)) = (Self::dims(op), op.result_tensor(0)) else { return Kernel::None };
        if !is_static(op) {
            return Kernel::None;
        }
        let index = (0..result.rank()).map(|d| match dims.contains(&d) {
            true => Index::Loop(d).times(-1).plus(Index::Const(result.shape[d] - 1)),
            false => Index::Loop(d),
        });
        copy_nest(result, index)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let dims = Self::dims(op).ok()?;
        let mut rule = ShardingRule::of_op(op);
        for (d, &size) in op.result_tensor(0)?.shape.iter().enumerate() {
            let kind = if dims.contains(&d) { FactorKind::Permutation } else { FactorKind::PassThrough };
            rule.add_all(size, kind, d);
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let dims = Self::dims(op)?;
        let operand = &operands[0];
        Ok(vec![rearrange(operand, &operand.shape, |at| {
            let mut from = Shape::from_slice(at);
            for &d in &dims {
                from[d] = operand.shape[d] - 1 - from[d];
            }
            (operand, operand.position(&from))
        })])
    }

    fn assembly(&self, op: OpRef<'_>) -> Option<Assembly> {
        let &[dim] = &Self::dims(op).ok()?[..] else { return None };
        let count = op.operand_tensor(0).filter(|_| is_static(op))?.shape[dim];
        let piece = AssemblyPiece { operand: 0, start: 0, count, reversed: true };
        Some(Assembly { dim, sizes: smallvec![Some(count)], pieces: smallvec![piece] })
    }

    /// Returns true, because a device reverses the rows that mirror its shard.
    fn is_windowed(&self) -> bool {
        true
    }

    /// Returns the plain rule: devices only swap whole shards, so conservative propagation needs no change.
    fn conservative_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        self.sharding_rule(op)
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x6xf32>) %r = stablehlo.reverse %a, dims = [0, 1] : tensor<4x6xf32>",
            "(%a: tensor<2x3x4xi32>) %r = stablehlo.reverse %a, dims = [1] : tensor<2x3x4xi32>",
        ]
    }
}
