//! gspmd: writes shardings and manual computations in the form before Shardy, which GSPMD reads: `mhlo.sharding` on
//! arguments and results of functions, and `@SPMDFullToShardShape` and `@SPMDShardToFullShape` around a call. Source:
//! XLA, `shard_map_import` and `HloSharding`; JAX's `shard_map` without Shardy.
//!
//! XLA can then skip Shardy, whose passes take time that is quadratic in a manual computation's arguments.

mod text;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, Op, Program, Stage, Ty, TypeData, Value};
use dialect::op::OpDef;
use dialect::ops::func;
use dialect::ops::mhlo::{ENTER_MANUAL, LEAVE_MANUAL, SHARDING, SHARDING_CALL};
use dialect::ops::sdy::{self, ManualComputation};
use dialect::ops::stablehlo::control::CustomCall;
use dialect::sharding::TensorSharding;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pass::{Effect, Pass};

const MANUAL: &str = "{manual}";

/// Rewrites all functions.
fn gspmd(program: &mut Program, diagnostics: &mut Diagnostics) {
    let mut names: FxHashSet<String> =
        func::functions(program).filter_map(|f| func::symbol(program, f)).map(str::to_owned).collect();
    for (function, block) in program.functions() {
        let mut failed = |program: &Program, op: Op, message: String| {
            let d = Diagnostic::error(codes::NO_GSPMD_FORM, program.op(op).span, message);
            diagnostics.push(d.note("run the passes that partition the program, and the pass manual, first"));
        };
        for op in program.block_ops(block).to_vec() {
            let name = program.op_name(op);
            if name == sdy::MANUAL_COMPUTATION.name() {
                outline(program, block, op, &mut names).unwrap_or_else(|message| failed(program, op, message));
            } else if name == sdy::ShardingConstraint.name() {
                constrain(program, block, op).unwrap_or_else(|message| failed(program, op, message));
            } else if sdy::is_op(program.view(op)) {
                failed(program, op, format!("{name} has no GSPMD form"));
            } else if let Some([sharding]) = sdy::result_shardings(program.view(op)) {
                match text_of(program, sharding) {
                    Ok(text) => {
                        let text = program.attr_str(&text);
                        program.remove_attr(op, func::SHARDING);
                        program.set_attr(op, SHARDING, text);
                    }
                    Err(message) => failed(program, op, message),
                }
            }
        }
        annotate(program, function).unwrap_or_else(|message| failed(program, function, message));
    }
    let body = program.body();
    let kept = program.block_ops(body).iter().copied().filter(|&op| program.op_name(op) != sdy::MESH.name()).collect();
    program.set_block_ops(body, kept);
}

/// Returns the sharding as text.
fn text_of(program: &Program, sharding: &TensorSharding) -> Result<String, String> {
    let mesh = sdy::resolve(program, &sharding.mesh).ok_or("a sharding over an undefined mesh")?;
    text::of(sharding, mesh)
        .ok_or_else(|| "mhlo.sharding can't express partial results other than sums, or overlapping axes".to_owned())
}

/// Rewrites the shardings of a function's arguments and results.
fn annotate(program: &mut Program, function: Op) -> Result<(), String> {
    let types = func::signature(program, function);
    let (inputs, outputs) = (types.inputs.len(), types.results.len());
    let texts = |program: &Program, count: usize, of: fn(&Program, Op, usize) -> Option<&TensorSharding>| {
        let stated = (0..count).filter_map(|i| Some((i, of(program, function, i)?)));
        stated.map(|(i, sharding)| Ok((i, text_of(program, sharding)?))).collect::<Result<Vec<_>, String>>()
    };
    let arguments = texts(program, inputs, func::arg_sharding)?;
    let results = texts(program, outputs, func::result_sharding)?;
    for (list, set) in
        [(arguments, func::set_arg_attrs as fn(&mut _, _, &str, &[_])), (results, func::set_result_attrs)]
    {
        let none: Vec<_> = list.iter().map(|&(i, _)| (i, None)).collect();
        let new: Vec<_> = list.into_iter().map(|(i, text)| (i, Some(program.attr_str(&text)))).collect();
        set(program, function, func::SHARDING, &none);
        set(program, function, SHARDING, &new);
    }
    Ok(())
}

/// Outlines the body of a manual computation into a function, and calls it between custom calls.
fn outline(program: &mut Program, block: Block, op: Op, names: &mut FxHashSet<String>) -> Result<(), String> {
    let manual = ManualComputation::of(program.view(op)).ok_or("a manual computation without its shardings")?;
    let mesh = manual.mesh.ok_or("a manual computation without a mesh")?;
    if mesh.axes.iter().any(|&(axis, size)| size > 1 && !manual.is_manual(axis)) {
        return Err("a manual computation with free axes can't be written in GSPMD form".to_owned());
    }
    let texts = |list: &[TensorSharding]| list.iter().map(|s| text_of(program, s)).collect::<Result<Vec<_>, String>>();
    let (ins, outs) = (texts(manual.in_shardings)?, texts(manual.out_shardings)?);
    let &[region] = &program.op(op).regions[..] else {
        return Err("a manual computation without its region".to_owned());
    };
    let &[body] = program.region_blocks(region) else {
        return Err("a manual computation of several blocks".to_owned());
    };
    let loc = program.op(op).loc;
    let inner: Vec<Ty> = program.block_args(body).iter().map(|&v| program.value_type(v)).collect();
    let last = program.terminator(body).ok_or("a manual computation without a return")?;
    let returned = program.op(last).operands.to_vec();
    let shards: Vec<Ty> = returned.iter().map(|&v| program.value_type(v)).collect();

    let name = (0..).map(|i| if i == 0 { "shmap_body".to_owned() } else { format!("shmap_body_{i}") });
    let name = name.into_iter().find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(name.clone());
    let (function, _) = func::new_function(program, &name, Some("private"), &[], &[], loc);
    func::set_signature(program, function, &inner, &shards);
    let of_function = program.op(function).regions[0];
    let mut inside = program.block_ops(body).to_vec();
    inside.pop();
    Builder::new(program, &mut inside, program.op(last).loc).op(&func::RETURN, &returned, &[], &[]);
    program.set_block_ops(body, inside);
    program.set_region_blocks(of_function, &[body]);
    state_effects(program, body);

    let mut ops = Vec::new();
    let mut operands = Vec::new();
    for ((&value, text), &ty) in program.op(op).operands.to_vec().iter().zip(&ins).zip(&inner) {
        if is_token(program, value) {
            operands.push(value);
            continue;
        }
        let whole = border(program, &mut ops, op, SHARDING_CALL, value, program.value_type(value), text);
        operands.push(border(program, &mut ops, op, ENTER_MANUAL, whole, ty, MANUAL));
    }
    let callee = program.intern_attr(AttrData::Symbol(name.as_str().into()));
    let call = Builder::new(program, &mut ops, loc).op(&func::CALL, &operands, &shards, &[("callee", callee)]);
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for (i, text) in outs.iter().enumerate() {
        let (value, result) = (program.result(call, i), program.result(op, i));
        if is_token(program, value) {
            renamed.insert(result, value);
            continue;
        }
        let shard = border(program, &mut ops, op, SHARDING_CALL, value, shards[i], MANUAL);
        renamed.insert(result, border(program, &mut ops, op, LEAVE_MANUAL, shard, program.value_type(result), text));
    }
    replace(program, block, op, ops);
    program.rename(&renamed);
    Ok(())
}

/// Writes a constraint as a custom call.
fn constrain(program: &mut Program, block: Block, op: Op) -> Result<(), String> {
    let sharding = sdy::stated_sharding(program.view(op)).ok_or("a constraint without a sharding")?;
    let (text, value, result) = (text_of(program, sharding)?, program.op(op).operands[0], program.result(op, 0));
    let mut ops = Vec::new();
    let held = border(program, &mut ops, op, SHARDING_CALL, value, program.value_type(value), &text);
    replace(program, block, op, ops);
    program.rename(&FxHashMap::from_iter([(result, held)]));
    Ok(())
}

/// Replaces `op` by `ops`.
fn replace(program: &mut Program, block: Block, op: Op, mut ops: Vec<Op>) {
    let old = program.block_ops(block).to_vec();
    let new = old.into_iter().flat_map(|o| if o == op { std::mem::take(&mut ops) } else { vec![o] }).collect();
    program.set_block_ops(block, new);
}

/// Marks the ops under `block` that have effects, or read the device's number, as run by every device separately
/// (manual): XLA needs a sharding on these ops, and can't infer it where they have no operands or results.
fn state_effects(program: &mut Program, block: Block) {
    for op in program.ops_under(block) {
        let view = program.view(op);
        let is_leaf = program.op(op).regions.is_empty() && !view.def().terminator();
        let asked = view.def().side_effect(view) || view.def().is_device_number();
        if is_leaf && asked && view.attr(SHARDING).is_none() {
            let manual = program.attr_str(MANUAL);
            program.set_attr(op, SHARDING, manual);
        }
    }
}

fn is_token(program: &Program, value: Value) -> bool {
    *program.type_data(program.value_type(value)) == TypeData::Token
}

/// Builds a custom call with a sharding.
fn border(program: &mut Program, ops: &mut Vec<Op>, at: Op, target: &str, value: Value, ty: Ty, text: &str) -> Value {
    let (target, text, loc) = (program.attr_str(target), program.attr_str(text), program.op(at).loc);
    let attrs = [("call_target_name", target), (SHARDING, text)];
    let op = Builder::new(program, ops, loc).op(&CustomCall, &[value], &[ty], &attrs);
    program.result(op, 0)
}

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "gspmd",
    doc: "Writes shardings and manual computations in mhlo.sharding and custom calls, for XLA without Shardy.",
    effect: Effect::Reach(Stage::Exported),
    options: &[],
    run: |program, _, diagnostics| gspmd(program, diagnostics),
};
