//! `async_start` and `async_done`: a collective or a slice that runs in parallel with other ops. The evaluator runs it
//! immediately.

use super::control::region;
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{OpRef, TypeData};
use crate::literal::Literal;
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::support::constraint::{operand_count, require};

/// The ops of this family.
pub static OPS: &[&dyn OpDef] = &[&AsyncStart, &AsyncDone];

/// `async_start`: <https://openxla.org/stablehlo/spec#async_start>
pub struct AsyncStart;
/// `async_done`: <https://openxla.org/stablehlo/spec#async_done>
pub struct AsyncDone;

/// Returns the text of the type of a future of values of these types.
fn future(op: OpRef<'_>, types: &[crate::ir::Ty]) -> String {
    let types: Vec<String> = types.iter().map(|&ty| op.program.type_text(ty)).collect();
    format!("!stablehlo.future<{}>", types.join(", "))
}

impl OpDef for AsyncStart {
    fn name(&self) -> &'static str {
        "stablehlo.async_start"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        let regions = op.program.op(op.op).regions.len();
        require!(regions == 1, "expected one region, found {regions}");
        let ops = op.block(0).map(|b| op.program.block_ops(b)).unwrap_or_default();
        let &[inner, end] = ops else {
            return Err(
                Problem::new(format!("expected one op and a return in the region, found {} (C1)", ops.len())).into()
            );
        };
        let (inner, end) = (op.program.view(inner), op.program.view(end));
        let slices = ["stablehlo.slice", "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"];
        let may = inner.def().collective(inner).is_some() || slices.contains(&inner.name());
        require!(may, "expected a collective or a slice in the region, found {} (C2)", inner.name());
        require!(end.def().terminator(), "expected one op and a return in the region (C1)");
        let given = op.type_ids(op.operands());
        let passed = inner.operands() == op.region_args(0) && inner.type_ids(inner.operands()) == given;
        let fits = passed;
        require!(fits, "expected the region's arguments to pass every operand to {}, and no others (C3)", inner.name());
        // (C4)
        Ok(vec![TypeData::Opaque(future(op, &op.type_ids(op.region_results(0))).into())])
    }

    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        let results = cx.region(region(op, 0)?, operands, mask)?;
        if results.len() != 1 {
            return Err(EvalError::new("a future of several values can't be evaluated"));
        }
        Ok(results)
    }

    fn examples(&self) -> &'static [&'static str] {
        &["(%a: tensor<8x2xf32>) %r = \"stablehlo.async_start\"(%a) ({
            ^bb0(%b: tensor<8x2xf32>):
              %s = \"stablehlo.slice\"(%b) <{limit_indices = array<i64: 4, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x2xf32>) -> tensor<4x2xf32>
              stablehlo.return %s : tensor<4x2xf32>
            }) : (tensor<8x2xf32>) -> !stablehlo.future<tensor<4x2xf32>>"]
    }

    fn isolated(&self) -> bool {
        true
    }
}

impl OpDef for AsyncDone {
    fn name(&self) -> &'static str {
        "stablehlo.async_done"
    }

    fn infer(&self, op: OpRef<'_>) -> Inferred {
        operand_count(op, 1)?;
        let want = TypeData::Opaque(future(op, &op.result_type_ids()).into());
        require!(
            op.operand_types().next() == Some(&want),
            operand = 0,
            "expected {want}, found {found} (C1)",
            want = op.program.type_data_text(&want),
            found = op.program.types_text(&op.type_ids(op.operands()))
        );
        Ok(op.result_types().cloned().collect())
    }

    fn evaluate(&self, _: OpRef<'_>, operands: &[Literal], _: &mut dyn Context) -> EvalResult<Vec<Literal>> {
        Ok(operands.to_vec())
    }

    fn examples(&self) -> &'static [&'static str] {
        &[
            "(%a: !stablehlo.future<tensor<4x2xf32>>) %r = \"stablehlo.async_done\"(%a) : (!stablehlo.future<tensor<4x2xf32>>) -> tensor<4x2xf32>",
        ]
    }
}
