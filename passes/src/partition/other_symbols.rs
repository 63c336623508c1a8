//! Ops next to `@main` in the module: every device keeps public functions without sharded values unchanged, functions
//! that ops name, which one device runs whole, and modules and unknown ops.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Op, Program, Value};
use dialect::op::{Control, OpDef as _};
use dialect::ops::{UNKNOWN, func};
use dialect::sharding::ShardingTable;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::symbols::{is_private, led_to};

/// Returns the ops to keep: `main`, public functions (without the annotations of earlier passes), unknown ops, and the
/// private functions that these name. Warns of functions that can't be kept.
pub(super) fn kept(program: &mut Program, main: Op, diagnostics: &mut Diagnostics) -> FxHashSet<Op> {
    let others: Vec<Op> = func::functions(program).filter(|&f| f != main && !is_private(program, f)).collect();
    let foreign = |op: &Op| program.op_name(*op) == func::MODULE_NAME || program.op(*op).def.name() == UNKNOWN.name();
    let foreign: Vec<Op> = program.block_ops(program.body()).iter().copied().filter(foreign).collect();
    let (whole, sharded): (Vec<Op>, Vec<Op>) = match others.is_empty() {
        true => Default::default(),
        false => {
            let table = ShardingTable::of(program);
            others.into_iter().partition(|&f| is_whole(program, &table, f))
        }
    };
    for &function in &sharded {
        let name = func::symbol(program, function).unwrap_or_default();
        let message = format!("@{name} is sharded, but only @main is partitioned, so @{name} is left out");
        let d = Diagnostic::warning(codes::LEFT_OUT, program.op(function).span, message);
        diagnostics.push(d.note("partition it in a separate module, as @main"));
    }
    whole.iter().for_each(|&function| strip(program, function));
    let kept = led_to(program, &[&whole[..], &foreign, &[main]].concat());
    let named = |&f: &Op| f != main && is_private(program, f) && kept.contains(&f);
    let named: Vec<Op> = func::functions(program).filter(named).collect();
    named.into_iter().for_each(|function| make_whole(program, function, diagnostics));
    kept
}

/// Returns whether every device computes the whole function.
fn is_whole(program: &Program, table: &ShardingTable, function: Op) -> bool {
    let Some(block) = func::block(program, function) else { return true };
    let unsharded = |value| table.get(value).is_none_or(|s| s.is_fully_replicated());
    let types = func::signature(program, function);
    let mut stated = (0..types.inputs.len()).filter_map(|i| func::arg_sharding(program, function, i));
    let mut returned = (0..types.results.len()).filter_map(|i| func::result_sharding(program, function, i));
    stated.all(|s| s.is_fully_replicated())
        && returned.all(|s| s.is_fully_replicated())
        && program.values_under(block).into_iter().all(unsharded)
        && program.ops_under(block).into_iter().all(|op| {
            let view = program.view(op);
            view.def().reshard(view).is_none()
                && view.def().annotation(view).is_none()
                && view.def().control(view) != Some(Control::Manual)
        })
}

/// Removes all shardings from a function that an op names, because the device that runs it has whole values.
fn make_whole(program: &mut Program, function: Op, diagnostics: &mut Diagnostics) {
    strip(program, function);
    let Some(block) = func::block(program, function) else { return };
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    let mut gone: FxHashSet<Op> = FxHashSet::default();
    for op in program.ops_under(block) {
        program.rename_operands(op, &renamed);
        let view = program.view(op);
        if view.def().control(view) == Some(Control::Manual) {
            let message = "a function that an op names runs on one device, so it can't have a manual computation";
            let d = Diagnostic::error(codes::SHARDING_ON_ONE_DEVICE, program.op(op).span, message);
            diagnostics.push(d.note("put the manual computation around the op that names the function"));
        } else if view.def().reshard(view).is_some() || view.def().annotation(view).is_some() {
            gone.insert(op);
            renamed.extend(program.results(op).zip(program.op(op).operands.iter().copied()));
        }
    }
    for inner in program.blocks_under(block) {
        let ops = program.block_ops(inner).iter().copied().filter(|op| !gone.contains(op)).collect();
        program.set_block_ops(inner, ops);
    }
}

/// Removes shardings that state that values are replicated on all devices.
fn strip(program: &mut Program, function: Op) {
    let types = func::signature(program, function);
    let (inputs, results) = (types.inputs.len(), types.results.len());
    func::set_arg_attrs(program, function, func::SHARDING, &(0..inputs).map(|i| (i, None)).collect::<Vec<_>>());
    func::set_result_attrs(program, function, func::SHARDING, &(0..results).map(|i| (i, None)).collect::<Vec<_>>());
    for op in func::block(program, function).map_or_else(Vec::new, |block| program.ops_under(block)) {
        program.remove_attr(op, func::SHARDING);
    }
}
