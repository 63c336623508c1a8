//! Keeps XLA from merging two windows at run-time positions into one.
//!
//! Its simplifier reads a window of a window at the sum of both starts without clamping either of them
//! (openxla/xla#49121), which is wrong where one is out of range. XLA turns scatters and gathers of one window into
//! such reads, and the partitioner slices windows out of shards, so a correct program would be compiled wrongly. A
//! barrier between the two windows keeps both.

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, OpRef, Program, Value};
use dialect::kernel::Kernel;
use dialect::ops::build;
use rustc_hash::FxHashMap;

/// Puts an `optimization_barrier` between every window at run-time positions and ops that read or write windows of it.
pub(super) fn between_windows(program: &mut Program, block: Block) {
    // Windows, and results of single-operand ops on them, since XLA moves reads past such ops; each with its last
    // barrier and the barrier's block.
    let mut windows: FxHashMap<Value, Option<(Block, Value)>> = FxHashMap::default();
    for block in program.blocks_under(block) {
        let mut ops: Vec<Op> = Vec::new();
        for op in program.block_ops(block).to_vec() {
            let view = program.view(op);
            let windowed = view.def().windowed_operands(view);
            for i in windowed.clone() {
                let value = program.op(op).operands[i];
                let Some(&known) = windows.get(&value) else { continue };
                let loc = program.op(op).loc;
                let barrier = match known {
                    Some((place, barrier)) if place == block => barrier,
                    _ => build::optimization_barrier(&mut Builder::new(program, &mut ops, loc), value),
                };
                program.op_mut(op).operands[i] = barrier;
                windows.insert(value, Some((block, barrier)));
            }
            let view = program.view(op);
            if (!windowed.is_empty() || view.operands().iter().any(|v| windows.contains_key(v))) && copies(view) {
                windows.extend(program.results(op).map(|v| (v, None)));
            }
            ops.push(op);
        }
        program.set_block_ops(block, ops);
    }
}

/// Returns whether every element of the result is computed from one element of one operand.
fn copies(op: OpRef<'_>) -> bool {
    match op.def().kernel(op) {
        Kernel::Nest(nest) => nest.inputs.len() == 1 && nest.loops.len() == nest.parallel,
        _ => false,
    }
}
