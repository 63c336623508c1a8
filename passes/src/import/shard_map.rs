//! Reads `shard_map` as exported before Shardy: a call whose operands come from `@SPMDFullToShardShape` and whose
//! results go to `@SPMDShardToFullShape` is a manual computation. Source: XLA, `shard_map_import`.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, Block, Op, Program, Region, Renaming, Ty, Value, ValueSource};
use dialect::op::Control;
use dialect::ops::mhlo::{ENTER_MANUAL, LEAVE_MANUAL, SHARDING as ANNOTATION, SHARDING_CALL};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisRef, TensorSharding};
use rustc_hash::{FxHashMap, FxHashSet};

use super::annotations::{Grid, target};
use super::hlo_sharding::{self, HloSharding};

/// Turns all such calls into manual computations.
pub(super) fn read(program: &mut Program, grid: &Grid, diagnostics: &mut Diagnostics) {
    for (_, block) in program.functions() {
        let mut users: FxHashMap<Value, Vec<Op>> = FxHashMap::default();
        for &op in program.block_ops(block) {
            for &operand in &program.op(op).operands {
                users.entry(operand).or_default().push(op);
            }
        }
        for op in program.block_ops(block).to_vec() {
            let view = program.view(op);
            if view.def().control(view) != Some(Control::Call) {
                continue;
            }
            let Some(borders) = Borders::of(program, op, &users) else { continue };
            if let Err(message) = replace(program, grid, block, op, &borders) {
                let span = program.op(op).span;
                diagnostics.push(
                    Diagnostic::error(codes::SHARD_MAP, span, message).note("write it as sdy.manual_computation"),
                );
            }
        }
    }
}

/// The custom calls around a call.
struct Borders {
    enter: Vec<Op>,
    leave: Vec<Op>,
    /// Annotations of shards between the call and `leave`.
    between: Vec<Op>,
}

impl Borders {
    fn of(program: &Program, call: Op, users: &FxHashMap<Value, Vec<Op>>) -> Option<Self> {
        let def = |v: Value| match program.value_source(v) {
            ValueSource::Result(op, _) => Some(op),
            ValueSource::Arg(..) => None,
        };
        let enter: Option<Vec<Op>> = program.op(call).operands.iter().map(|&v| def(v)).collect();
        let enter = enter.filter(|ops| ops.iter().all(|&op| target(program, op) == Some(ENTER_MANUAL)))?;
        let (mut leave, mut between) = (Vec::new(), Vec::new());
        for result in program.results(call) {
            let only_user = |value: Value| match users.get(&value)?[..] {
                [user] => Some(user),
                _ => None,
            };
            let mut user = only_user(result)?;
            if target(program, user) == Some(SHARDING_CALL) {
                between.push(user);
                user = only_user(program.result(user, 0))?;
            }
            leave.push(Some(user).filter(|&op| target(program, op) == Some(LEAVE_MANUAL))?);
        }
        Some(Self { enter, leave, between })
    }
}

/// Returns the annotation of an op.
fn annotation(program: &Program, op: Op) -> Result<HloSharding, String> {
    let text = program.attr(op, ANNOTATION).and_then(|a| program.attr_data(a).as_str());
    let mut list = hlo_sharding::read(text.ok_or("an op that enters or leaves a manual region has no mhlo.sharding")?)?;
    list.pop().ok_or_else(|| "an empty sharding".to_owned())
}

/// The operands, axes and shardings of a manual computation.
struct Manual {
    operands: Vec<Value>,
    axes: Vec<AxisRef>,
    ins: Vec<TensorSharding>,
    outs: Vec<TensorSharding>,
}

impl Manual {
    /// Reads the annotations around a call.
    fn of(program: &mut Program, grid: &Grid, borders: &Borders) -> Result<Self, String> {
        let mut manual = Self { operands: Vec::new(), axes: Vec::new(), ins: Vec::new(), outs: Vec::new() };
        let mut given = Vec::new();
        for &op in &borders.enter {
            let axes = grid.manual_axes(&annotation(program, op)?);
            if manual.axes.is_empty() {
                manual.axes = axes;
            } else if manual.axes != axes {
                return Err("the operands enter with different manual axes".to_owned());
            }
            let whole =
                program.op(op).operands.first().copied().ok_or("an op that enters a manual region has no operand")?;
            given.push(match program.value_source(whole) {
                ValueSource::Result(outer, _) if target(program, outer) == Some(SHARDING_CALL) => {
                    annotation(program, outer)?
                }
                _ => return Err(format!("the operand of @{ENTER_MANUAL} is not a result of @Sharding")),
            });
            manual.operands.push(whole);
        }
        let leave = borders.leave.iter().map(|&op| Ok((annotation(program, op)?, program.result(op, 0))));
        let wanted: Vec<(HloSharding, Value)> = leave.collect::<Result<_, String>>()?;
        let mut sharding = |given: &HloSharding, value: Value| -> Result<TensorSharding, String> {
            let rank = program.tensor_type(value).map_or(0, |t| t.rank());
            let mut sharding = grid.sharding(program, given, rank)?.ok_or("a manual region is over no devices")?;
            let used: Vec<AxisRef> = sharding.dims.iter().flat_map(|d| d.axes.iter().copied()).collect();
            sharding.replicated = manual.axes.iter().copied().filter(|a| !used.contains(a)).collect();
            Ok(sharding)
        };
        let ins = given.iter().zip(&manual.operands).map(|(given, &value)| sharding(given, value));
        let ins = ins.collect::<Result<_, _>>()?;
        let outs = wanted.iter().map(|(given, value)| sharding(given, *value)).collect::<Result<_, _>>()?;
        Ok(Self { ins, outs, ..manual })
    }
}

/// Returns a region with a copy of the function that `call` calls.
fn body(program: &mut Program, call: Op) -> Result<Region, String> {
    let callee = func::callee(program.view(call)).map(str::to_owned).ok_or("a call names no function")?;
    let body = func::function(program, &callee).and_then(|f| func::block(program, f));
    let body = body.ok_or_else(|| format!("the called function @{callee} has no body"))?;
    let loc = program.op(call).loc;
    let inner = program.new_block();
    let mut renaming = Renaming { call_site: Some(loc), ..Renaming::default() };
    for argument in program.block_args(body).to_vec() {
        let (ty, span) = (program.value_type(argument), program.value_span(argument));
        let copy = program.add_block_arg(inner, ty, program.value_loc(argument), span);
        renaming.values.insert(argument, copy);
    }
    let inside = program.block_ops(body).to_vec();
    let (&last, rest) = inside.split_last().ok_or("an empty body")?;
    let mut ops: Vec<Op> = rest.iter().map(|&op| program.clone_op(op, &mut renaming)).collect();
    let returned: Vec<Value> = program.op(last).operands.iter().map(|&v| renaming.value(v)).collect();
    ops.push(program.new_op(&sdy::RETURN, &returned, &[], &[], &[], loc));
    program.set_block_ops(inner, ops);
    Ok(program.new_region(&[inner]))
}

fn replace(program: &mut Program, grid: &Grid, block: Block, call: Op, borders: &Borders) -> Result<(), String> {
    let Manual { operands, axes, ins, outs } = Manual::of(program, grid, borders)?;
    let (region, loc) = (body(program, call)?, program.op(call).loc);
    let attrs = [
        (sdy::IN_SHARDINGS, AttrData::ShardingPerValue(ins)),
        (sdy::OUT_SHARDINGS, AttrData::ShardingPerValue(outs)),
        (sdy::MANUAL_AXES, AttrData::ManualAxes(axes.iter().map(|a| a.name).collect())),
    ];
    let attrs = attrs.map(|(name, data)| (program.name(name), program.intern_attr(data)));
    let results: Vec<Value> = borders.leave.iter().map(|&op| program.result(op, 0)).collect();
    let types: Vec<Ty> = results.iter().map(|&v| program.value_type(v)).collect();
    let manual = program.new_op(&sdy::MANUAL_COMPUTATION, &operands, &types, &attrs, &[region], loc);
    let renamed: FxHashMap<Value, Value> = results.into_iter().zip(program.results(manual)).collect();
    // The values that enter may have other users, so only ops without users are removed.
    let gone: FxHashSet<Op> = borders.enter.iter().chain(&borders.leave).chain(&borders.between).copied().collect();
    for &op in &gone {
        program.remove_attr(op, ANNOTATION);
    }
    let ops = program.block_ops(block).iter().filter(|op| !gone.contains(op));
    let kept: Vec<Op> = ops.map(|&op| if op == call { manual } else { op }).collect();
    for &op in &kept {
        program.rename_operands(op, &renamed);
    }
    program.set_block_ops(block, kept);
    Ok(())
}
