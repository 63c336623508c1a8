//! `bitcast_convert`: the same bits read as another type. Between types of different width, the innermost dimension of
//! the narrower side has the parts of one wide element, lowest bits first.
//!
//! Source: <https://openxla.org/stablehlo/spec#bitcast_convert>

use super::{FUNCTIONAL, known};
use crate::eval::{Context, EvalError, EvalResult};
use crate::ir::{ElementClass, ElementType, OpRef, TensorType};
use crate::kernel::{Arg, Body, Index, Input, Inst, Kernel, Nest};
use crate::literal::Literal;
use crate::op::{Constancy, Inferred, OpDef, OpPriority};
use crate::ops::support::constraint::{Checked, compatible, one, operand_count, require, result, show, tensor};
use crate::scalar::{Scalar, ScalarOp};
use crate::sharding::{FactorKind, ShardingRule};
use crate::text::Syntax;

/// `stablehlo.bitcast_convert`
pub struct BitcastConvert;

impl BitcastConvert {
    fn check(op: OpRef<'_>) -> Checked<TensorType> {
        operand_count(op, 1)?;
        let (from, to) = (tensor(op, 0)?, result(op, 0)?);
        let fits = from.element.is_complex() == to.element.is_complex();
        require!(fits, "expected both or none of {} and {} to be complex (C2)", show(op, from), show(op, to));
        let other = |ty: &TensorType| ty.element.class() == ElementClass::Other;
        if other(from) || other(to) {
            return Ok(to.clone());
        }
        let (n, m) = (i64::from(from.element.bits()), i64::from(to.element.bits()));
        // The wider side's shape, with an additional dimension of the parts, must be the narrower side's shape.
        let (wide, narrow) = if n >= m { (&from.shape, &to.shape) } else { (&to.shape, &from.shape) };
        let parts = n.max(m) / n.min(m);
        let mut want = wide.clone();
        if n != m {
            want.push(parts);
        }
        require!(
            parts * n.min(m) == n.max(m) && compatible(&want, narrow),
            "expected elements of {from} and {to} to have the same number of bits (C1)",
            from = show(op, from),
            to = show(op, to)
        );
        Ok(to.clone())
    }
}

/// Returns the unsigned integer type of the width of `ty`; booleans are one-bit integers.
fn unsigned(ty: ElementType) -> Option<ElementType> {
    let unsigned = |e: &ElementType| matches!(e.class(), ElementClass::Unsigned | ElementClass::Bool);
    ElementType::ALL.iter().copied().find(|e| unsigned(e) && e.bits() == ty.bits())
}

fn nest(op: OpRef<'_>) -> Option<Nest> {
    let (from, to) = (op.operand_tensor(0)?, op.result_tensor(0).filter(|t| t.is_static())?);
    let (n, m) = (from.element.bits(), to.element.bits());
    let rank = to.rank();
    let mut nest = Nest { loops: to.shape.iter().copied().collect(), parallel: rank, ..Nest::default() };
    if n == m {
        nest.inputs.push(Input::at(0, 0..rank));
        nest.body = Body::of(ScalarOp::Bitcast, &[from.element], to.element);
        return known(&nest.body).then_some(nest);
    }
    let (source, target) = (unsigned(from.element)?, unsigned(to.element)?);
    let body = &mut nest.body;
    let last = if n > m {
        nest.inputs.push(Input::at(0, 0..rank.checked_sub(1)?));
        body.inputs.push(from.element);
        let bits = body.op(ScalarOp::Bitcast, &[Arg::Input(0)], source);
        let shift = body.push(Inst::Index(Index::Loop(rank - 1).times(m.into()), source));
        let moved = body.op(ScalarOp::ShrLogical, &[bits, shift], source);
        // Converting to i1 tests all bits, not only the lowest one.
        let mask = body.push(Inst::Const(Scalar::Int((1i128 << m) - 1), source));
        let low = body.op(ScalarOp::And, &[moved, mask], source);
        body.op(ScalarOp::Convert, &[low], target)
    } else {
        let mut all = None;
        for part in 0..m / n {
            let mut input = Input::at(0, 0..rank);
            input.index.push(Index::Const(part.into()));
            nest.inputs.push(input);
            body.inputs.push(from.element);
            let bits = body.op(ScalarOp::Bitcast, &[Arg::Input(part as usize)], source);
            let wide = body.op(ScalarOp::Convert, &[bits], target);
            let shift = body.push(Inst::Const(Scalar::Int((part * n).into()), target));
            let moved = body.op(ScalarOp::Shl, &[wide, shift], target);
            all = Some(all.map_or(moved, |all| body.op(ScalarOp::Or, &[all, moved], target)));
        }
        all?
    };
    let result = body.op(ScalarOp::Bitcast, &[last], to.element);
    body.results = vec![result];
    Some(nest)
}

/// Returns whether operand and result have the same shape, so that elements correspond one to one.
fn keeps_shape(op: OpRef<'_>) -> bool {
    op.operand_tensor(0).map(|t| &t.shape) == op.result_tensor(0).map(|t| &t.shape)
}

impl OpDef for BitcastConvert {
    fn name(&self) -> &'static str {
        "stablehlo.bitcast_convert"
    }

    fn syntax(&self) -> Syntax {
        FUNCTIONAL
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        one(Self::check(op)?)
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        nest(op).map_or(Kernel::None, Kernel::Nest)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let (from, to) = (op.operand_tensor(0)?, op.result_tensor(0)?);
        let common = from.rank().min(to.rank());
        let mut rule = ShardingRule::pointwise(&[from.rank()], &[to.rank()], &from.shape[..common]);
        // The parts of an element stay on one device.
        if let Some(&parts) = from.shape.get(common) {
            rule.add(parts, FactorKind::NeedReplication, &[(0, common)], &[]);
        } else if let Some(&parts) = to.shape.get(common) {
            rule.add(parts, FactorKind::NeedReplication, &[], &[(0, common)]);
        }
        Some(rule)
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let (from, to) = (&operands[0], result(op, 0)?);
        // Elements of whole bytes are already stored as the specification requires.
        if from.element.bits() % 8 == 0 && to.element.bits() % 8 == 0 && to.element.bits() > 0 {
            return Ok(vec![Literal::from_bytes(to.element, &to.shape, from.dense_bytes().into_owned())]);
        }
        let nest = nest(op).ok_or_else(|| EvalError::new("bits can't be converted between these types"))?;
        Ok(nest.eval(operands))
    }

    fn op_priority(&self, op: OpRef<'_>) -> OpPriority {
        if keeps_shape(op) { OpPriority::Elementwise } else { OpPriority::Late }
    }

    fn constancy(&self, op: OpRef<'_>) -> Constancy {
        if keeps_shape(op) { Constancy::Preserving } else { Constancy::No }
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: tensor<4x2xf32>) %r = stablehlo.bitcast_convert %a : (tensor<4x2xf32>) -> tensor<4x2xi32>",
            "(%a: tensor<4x2xf32>) %r = stablehlo.bitcast_convert %a : (tensor<4x2xf32>) -> tensor<4x2x2xui16>",
            "(%a: tensor<4x2x4xui8>) %r = stablehlo.bitcast_convert %a : (tensor<4x2x4xui8>) -> tensor<4x2xf32>",
            "(%a: tensor<2x8xi1>) %r = stablehlo.bitcast_convert %a : (tensor<2x8xi1>) -> tensor<2xui8>",
            "(%a: tensor<2xui8>) %r = stablehlo.bitcast_convert %a : (tensor<2xui8>) -> tensor<2x8xi1>",
            "(%a: tensor<4xui8>) %r = stablehlo.bitcast_convert %a : (tensor<4xui8>) -> tensor<4x2xi4>",
        ]
    }
}
