//! Replaces elements of tuples by the values that the tuples were built from, and removes tuples without users.

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, OpRef, Program, Renaming, TypeData, Value};
use rustc_hash::FxHashSet;

/// Returns whether an op reads a tuple.
pub(super) fn reads_one(op: OpRef<'_>) -> bool {
    op.operand_types().any(|ty| matches!(ty, TypeData::Tuple(_)))
}

/// Decomposes the tuples under `block`, in which calls have been inlined.
pub(super) fn take_apart(program: &mut Program, block: Block) {
    let mut renaming = Renaming::default();
    let mut left_out: FxHashSet<Op> = FxHashSet::default();
    let all = program.ops_under(block);
    for &op in &all {
        for operand in &mut program.op_mut(op).operands {
            *operand = renaming.value(*operand);
        }
        if !reads_one(program.view(op)) {
            continue;
        }
        let (def, loc) = (program.op(op).def, program.op(op).loc);
        let mut made = Vec::new();
        let elements = def.expand(op, &mut Builder::new(program, &mut made, loc));
        if let Some(elements) = elements.filter(|_| made.is_empty()) {
            renaming.values.extend(program.results(op).zip(elements));
            left_out.insert(op);
        }
    }
    // Backwards, since a tuple may be part of another.
    let mut read: FxHashSet<Value> = FxHashSet::default();
    for op in all.into_iter().rev().filter(|op| !left_out.contains(op)).collect::<Vec<_>>() {
        let view = program.view(op);
        let is_plain = program.op(op).regions.is_empty() && !view.def().side_effect(view) && view.result_count() > 0;
        let makes_tuples = is_plain && view.result_types().all(|ty| matches!(ty, TypeData::Tuple(_)));
        if makes_tuples && program.results(op).all(|result| !read.contains(&result)) {
            left_out.insert(op);
        } else {
            read.extend(program.op(op).operands.iter().copied());
        }
    }
    for block in program.blocks_under(block) {
        let kept: Vec<Op> = program.block_ops(block).iter().copied().filter(|op| !left_out.contains(op)).collect();
        program.set_block_ops(block, kept);
    }
}
