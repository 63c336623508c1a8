//! Keeps XLA from joining two windows at run-time positions into one.
//!
//! Its simplifier reads a window of a window at the sum of both starts without clamping either of them (openxla/xla#49121), which
//! is wrong where one lies out of range. Scatters and gathers of one window become such reads there, and slices of
//! what devices hold are written by the partitioner, so a program that is right by itself would be compiled wrongly. A barrier
//! between the two keeps both as they are.

use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, OpRef, Program, Value};
use dialect::kernel::Kernel;
use dialect::ops::build;
use rustc_hash::FxHashMap;

/// Puts an `optimization_barrier` between every window at run-time positions and an op that reads or writes windows of it.
pub(super) fn between_windows(program: &mut Program, block: Block) {
    // Windows, and what ops of one operand make of them, since XLA moves reads past such ops; each with its last barrier and
    // the block that has it.
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

/// Whether every element of the result is made of one element of one operand.
fn copies(op: OpRef<'_>) -> bool {
    match op.def().kernel(op) {
        Kernel::Nest(nest) => nest.inputs.len() == 1 && nest.loops.len() == nest.parallel,
        _ => false,
    }
}
