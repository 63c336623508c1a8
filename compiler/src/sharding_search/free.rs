//! Removal of the annotations that a search may replace.

use std::collections::HashMap;

use dialect::ir::{Op, Program, Value};
use dialect::op::Annotation;
use dialect::ops::{func, sdy};
use dialect::sharding::ShardingTable;

/// Removes all stated shardings, except those of manual computations, whose bodies depend on them.
pub(super) fn free(program: &mut Program) {
    for function in func::functions(program).collect::<Vec<_>>() {
        let signature = func::signature(program, function);
        let (arguments, results) = (signature.inputs.len(), signature.results.len());
        for name in [func::SHARDING, dialect::ops::mhlo::SHARDING] {
            func::set_arg_attrs(program, function, name, &(0..arguments).map(|i| (i, None)).collect::<Vec<_>>());
            func::set_result_attrs(program, function, name, &(0..results).map(|i| (i, None)).collect::<Vec<_>>());
        }
    }
    let mut instead: HashMap<Value, Value> = HashMap::new();
    let mut removed: Vec<Op> = Vec::new();
    for op in program.ops_under(program.body()) {
        let view = program.view(op);
        let is_note = matches!(
            view.def().annotation(view),
            Some(Annotation::Constraint | Annotation::Reshard | Annotation::Barrier(_) | Annotation::Group(_))
        );
        if is_note && let Some(&operand) = view.operands().first() {
            let operand = instead.get(&operand).copied().unwrap_or(operand);
            view.results().for_each(|result| {
                instead.insert(result, operand);
            });
            removed.push(op);
        } else if sdy::ManualComputation::of(view).is_none() {
            program.remove_attr(op, func::SHARDING);
        }
    }
    program.rename(&instead.into_iter().collect());
    remove(program, &removed);
    if ShardingTable::of(program).iter().next().is_none() {
        remove_meshes(program);
    }
}

/// Removes the meshes that no sharding uses any more.
pub(super) fn remove_meshes(program: &mut Program) {
    let meshes: Vec<Op> = sdy::meshes(program).map(|mesh| mesh.0).collect();
    remove(program, &meshes);
}

fn remove(program: &mut Program, ops: &[Op]) {
    let gone: std::collections::HashSet<Op> = ops.iter().copied().collect();
    for block in program.blocks_under(program.body()) {
        if program.block_ops(block).iter().any(|op| gone.contains(op)) {
            let left = program.block_ops(block).iter().copied().filter(|op| !gone.contains(op)).collect();
            program.set_block_ops(block, left);
        }
    }
}
