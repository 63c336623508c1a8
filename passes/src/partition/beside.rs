//! What stands beside `@main`: each device has public functions as they are where nothing in them is sharded, and modules
//! and ops that aren't known here.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Op, Program};
use dialect::op::{Control, OpDef as _};
use dialect::ops::{UNKNOWN, func};
use dialect::sharding::ShardingTable;

use crate::symbols::is_private;

/// What stays: public functions, without what the passes before wrote on them, and what isn't known here. Warns of
/// functions that can't stay.
pub(super) fn kept(program: &mut Program, main: Op, diagnostics: &mut Diagnostics) -> Vec<Op> {
    let others: Vec<Op> = func::functions(program).filter(|&f| f != main && !is_private(program, f)).collect();
    let foreign = |op: &Op| program.op_name(*op) == func::MODULE_NAME || program.op(*op).def.name() == UNKNOWN.name();
    let foreign: Vec<Op> = program.block_ops(program.body()).iter().copied().filter(foreign).collect();
    if others.is_empty() {
        return foreign;
    }
    let table = ShardingTable::of(program);
    let (whole, sharded): (Vec<Op>, Vec<Op>) = others.into_iter().partition(|&f| is_whole(program, &table, f));
    for &function in &sharded {
        let name = func::symbol(program, function).unwrap_or_default();
        let message = format!("@{name} is sharded, but only @main is partitioned: it is left out");
        let d = Diagnostic::warning(codes::LEFT_OUT, program.op(function).span, message);
        diagnostics.push(d.note("partition it in a module of its own, where it is called main"));
    }
    whole.iter().for_each(|&function| strip(program, function));
    [whole, foreign].concat()
}

/// Whether every device computes all of the function.
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

/// Takes out shardings that say that everything is on every device.
fn strip(program: &mut Program, function: Op) {
    let types = func::signature(program, function);
    let (inputs, results) = (types.inputs.len(), types.results.len());
    func::set_arg_attrs(program, function, func::SHARDING, &(0..inputs).map(|i| (i, None)).collect::<Vec<_>>());
    func::set_result_attrs(program, function, func::SHARDING, &(0..results).map(|i| (i, None)).collect::<Vec<_>>());
    for op in func::block(program, function).map_or_else(Vec::new, |block| program.ops_under(block)) {
        program.remove_attr(op, func::SHARDING);
    }
}
