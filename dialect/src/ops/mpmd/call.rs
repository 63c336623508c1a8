//! Calls of a function over global values, and of a fragment that was partitioned on its mesh.

use super::region::on_mesh;
use super::{CALL_COUNTER, topology};
use crate::eval::{Context, EvalError, EvalResult, LaneResults, Lanes, Mask};
use crate::ir::{AttrData, ElementType, OpRef, TypeData};
use crate::op::{Inferred, OpDef, Problem};
use crate::ops::func;
use crate::ops::support::constraint::Checked;
use crate::sharding::Layout;
use crate::text::Syntax;

/// `mpmd.call @f(%a) {call_counter = 0 : ui32} : (T) -> T`: one iteration of a loop whose body is a function.
pub static CALL: func::Call = func::Call { name: "mpmd.call", check: check_counter };

fn check_counter(op: OpRef<'_>) -> Checked<()> {
    let is_count = |ty| matches!(op.program.type_data(ty), TypeData::Scalar(ElementType::UI32));
    match op.attr(CALL_COUNTER) {
        Some(AttrData::Int(_, ty)) if is_count(*ty) => Ok(()),
        None => Ok(()),
        Some(_) => {
            let problem = Problem::new(format!("{CALL_COUNTER} is not a ui32"));
            Err(problem.note(format!("write {CALL_COUNTER} = 0 : ui32")))
        }
    }
}

/// `mpmd.fragment_call<mesh="m", origin=[]> @f(%a) : (!mpmd.mesh_tensor<"m", T>) -> !mpmd.mesh_tensor<"m", T>`: runs a
/// function on every device of a mesh, over its shards of the operands.
pub struct FragmentCall;
/// `mpmd.fragment_call`
pub static FRAGMENT_CALL: FragmentCall = FragmentCall;

/// Returns the layouts on the mesh of the values that a call takes or returns.
fn layouts<'a>(op: OpRef<'a>, types: impl Iterator<Item = &'a TypeData>) -> EvalResult<Vec<Layout>> {
    let topology = topology::of_program(op.program).ok_or_else(|| EvalError::new("@main has no topology"))?;
    let layout = |ty: &TypeData| ty.mesh_tensor().and_then(|tensor| topology.layout(tensor));
    types.map(|ty| layout(ty).ok_or_else(|| EvalError::new("the topology has no such mesh"))).collect()
}

impl OpDef for FragmentCall {
    fn name(&self) -> &'static str {
        "mpmd.fragment_call"
    }

    fn syntax(&self) -> Syntax {
        Syntax::Custom(&super::text::FRAGMENT_CALL)
    }

    /// Returns the declared types; the module's verifier, which has all symbols, checks the function's types.
    fn infer(&self, op: OpRef<'_>) -> Inferred {
        on_mesh(op, op.operand_types(), "operand")?;
        on_mesh(op, op.result_types(), "result")?;
        if func::callee(op).is_none() {
            return Err(Problem::new("a call needs the name of a function").note("write @name(…)").into());
        }
        Ok(op.result_types().cloned().collect())
    }

    /// Evaluates one lane per replica, with global values. The function runs on its own set of devices, one for each
    /// device of the mesh.
    fn evaluate_spmd(&self, op: OpRef<'_>, operands: &[Lanes], mask: &Mask, cx: &mut dyn Context) -> LaneResults {
        if cx.partitions() != 1 {
            return Err(EvalError::new(
                "a fragment can only be called by a program over global values, on one partition",
            ));
        }
        let callee = func::callee(op).and_then(|name| func::function(op.program, name));
        let body = callee.and_then(|function| op.program.op(function).regions.first().copied());
        let body = body.ok_or_else(|| EvalError::new("the called function is undefined"))?;
        let (ins, outs) = (layouts(op, op.operand_types())?, layouts(op, op.result_types())?);
        let name = op.attr(super::MESH_NAME).and_then(AttrData::as_str).unwrap_or_default();
        let mesh = op.program.find_name(name).zip(topology::of_program(op.program));
        let devices = mesh.map_or(0, |(name, topology)| topology.ids(name).len());
        let all: Mask = mask.iter().flat_map(|&runs| std::iter::repeat_n(runs, devices)).collect();
        let mut args = Vec::with_capacity(operands.len());
        for (operand, layout) in operands.iter().zip(&ins) {
            let mut lanes: Lanes = vec![None; all.len()];
            for (lane, shard) in lanes.iter_mut().enumerate().filter(|(lane, _)| all[*lane]) {
                let value = operand[lane / devices].as_ref();
                let value = value.ok_or_else(|| EvalError::new("an operand has no value"))?;
                *shard = Some(layout.shard(value, lane % devices));
            }
            args.push(lanes);
        }
        let results = cx.isolated(devices, body, &args, &all)?;
        let whole = |(result, layout): (&Lanes, &Layout)| -> Lanes {
            let replica = |lane: usize| {
                let held = (0..devices).filter_map(|d| Some((d, result[lane * devices + d].as_ref()?)));
                layout.assemble_held(held)
            };
            mask.iter().enumerate().map(|(lane, &runs)| runs.then(|| replica(lane))).collect()
        };
        Ok(results.iter().zip(&outs).map(whole).collect())
    }
}
