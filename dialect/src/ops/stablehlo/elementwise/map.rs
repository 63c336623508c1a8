//! `map`: a region of scalar ops applied to every element. Source: <https://openxla.org/stablehlo/spec#map>

use super::{known, nest};
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::eval::{Context, EvalResult, region_on_lane};
use crate::ir::{OpRef, TensorType};
use crate::kernel::{Arg, Body, Kernel};
use crate::kernel::{body_of_region, map};
use crate::literal::Literal;
use crate::op::{Constancy, Inferred, OpDef, OpPriority, Problem};
use crate::ops::support::constraint::{Checked, declared, ints, is_static, one, require, same_shape, tensor};
use crate::sharding::ShardingRule;

/// `stablehlo.map`
pub struct Map;

impl Map {
    fn check(op: OpRef<'_>) -> Checked<TensorType> {
        let first = tensor(op, 0)?;
        for i in 1..op.operands().len() {
            same_shape(op, i, 0, "C1")?;
        }
        let dims = ints(op, "dimensions")?;
        let same = dims.iter().copied().eq(0..first.rank() as i64);
        require!(same, "expected dimensions 0 to {}, found {dims:?} (C3)", first.rank());
        let block = op.block(0).ok_or_else(|| Problem::new("expected a region of one block"))?;
        let params = op.program.block_args(block);
        let fits = |(i, &p): (usize, &crate::ir::Value)| {
            let (param, operand) = (op.program.tensor_type(p), op.operand_tensor(i));
            param.zip(operand).is_some_and(|(p, o)| p.rank() == 0 && p.element == o.element)
        };
        let same = params.len() == op.operands().len() && params.iter().enumerate().all(fits);
        require!(same, "expected one argument of the region for each operand, its elements as tensors of rank 0 (C4)");
        let result = op.program.terminator(block).map(|t| op.program.view(t)).filter(|t| t.operands().len() == 1);
        let result = result.and_then(|t| t.operand_tensor(0)).filter(|t| t.rank() == 0);
        let result = result.ok_or_else(|| Problem::new("expected the region to return one tensor of rank 0 (C4)"))?;
        Ok(first.with_element(result.element))
    }

    fn body(op: OpRef<'_>) -> Option<Body> {
        let args: Vec<Arg> = (0..op.operands().len()).map(Arg::Input).collect();
        body_of_region(op.program, op.region(0)?, &args).filter(|b| b.results.len() == 1 && known(b))
    }
}

impl OpDef for Map {
    fn name(&self) -> &'static str {
        "stablehlo.map"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let ty = Self::check(op)?;
        if is_static(op) { one(ty) } else { declared(op) }
    }

    fn verify(&self, op: OpRef<'_>, diagnostics: &mut Diagnostics) {
        if op.program.op(op.op).regions.len() != 1 {
            diagnostics.push(Diagnostic::error(codes::REGION_STRUCTURE, op.span(), "expected one region"));
        }
    }

    fn kernel(&self, op: OpRef<'_>) -> Kernel {
        Self::body(op).and_then(|body| nest(op, body)).map_or(Kernel::None, Kernel::Nest)
    }

    fn sharding_rule(&self, op: OpRef<'_>) -> Option<ShardingRule> {
        let ty = op.result_tensor(0)?;
        Some(ShardingRule::pointwise(&vec![ty.rank(); op.operands().len()], &[ty.rank()], &ty.shape))
    }

    fn evaluate(&self, op: OpRef<'_>, operands: &[Literal], cx: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        let ty = Self::check(op)?;
        let shape = operands.first().map_or(&ty.shape, |o| &o.shape);
        if let Some(body) = Self::body(op) {
            return Ok(vec![map(&body, shape, operands)]);
        }
        let region = op.region(0).ok_or_else(|| Problem::new("expected a region"))?;
        let mut values = Vec::new();
        for i in 0..operands.first().map_or(0, Literal::len) {
            let args: Vec<Literal> = operands.iter().map(|o| Literal::scalar(o.element, o.get(i))).collect();
            values.extend(region_on_lane(cx, region, &args)?.first().map(|r| r.get(0)));
        }
        Ok(vec![Literal::from_scalars(ty.element, shape, values)])
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) %r = \"stablehlo.map\"(%a, %b) <{dimensions = array<i64: 0, 1>}> ({
            ^bb0(%x: tensor<f32>, %y: tensor<f32>):
              %s = stablehlo.multiply %x, %y : tensor<f32>
              %t = stablehlo.add %s, %x : tensor<f32>
              stablehlo.return %t : tensor<f32>
            }) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>"]
    }

    fn elementwise(&self) -> bool {
        true
    }

    /// Returns a late priority, because Shardy doesn't look into its region.
    fn op_priority(&self, _: OpRef<'_>) -> OpPriority {
        OpPriority::Late
    }

    fn constancy(&self, _: OpRef<'_>) -> Constancy {
        Constancy::No
    }
}
