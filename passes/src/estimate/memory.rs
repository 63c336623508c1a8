//! Peak memory of a device: what is alive at once, when values are freed after their last reader.
//!
//! Arguments stay to the end, as the caller holds them, unless they are donated (`jax.buffer_donor`,
//! `tf.aliasing_output`). A loop's results take the place of its operands, an elementwise op's result that of an operand
//! of the same size it is the last to read.

use dialect::ir::{Block, Op, Program, Value};
use dialect::op::Control;
use dialect::ops::func;
use rustc_hash::{FxHashMap, FxHashSet};

use super::traffic::{Traffic, bytes_of};

/// Bytes a device needs at most while it runs `function`.
pub(super) fn peak_bytes(program: &Program, function: Op, traffic: &Traffic) -> f64 {
    let Some(block) = func::block(program, function) else { return 0.0 };
    let arguments = program.block_args(block);
    let donated = |i: &usize| {
        ["jax.buffer_donor", "tf.aliasing_output"].iter().any(|n| func::arg_attr(program, function, *i, n).is_some())
    };
    let kept: FxHashSet<Value> = (0..arguments.len()).filter(|i| !donated(i)).map(|i| arguments[i]).collect();
    let start: f64 = arguments.iter().map(|&v| bytes_of(program, v)).sum();
    peak(program, block, start, arguments, &kept, traffic)
}

/// The peak while `block` runs, `start` bytes being there before, those of `owned` among them.
fn peak(
    program: &Program,
    block: Block,
    start: f64,
    owned: &[Value],
    kept: &FxHashSet<Value>,
    traffic: &Traffic,
) -> f64 {
    let ops = program.block_ops(block);
    // The last op of this block that reads a value, inside its regions or itself.
    let mut last: FxHashMap<Value, usize> = FxHashMap::default();
    for (i, &op) in ops.iter().enumerate() {
        each_read(program, op, traffic, &mut |v| {
            last.insert(v, i);
        });
    }
    let mut here: FxHashSet<Value> = owned.iter().copied().collect();
    let (mut live, mut top) = (start, start);
    for (i, &op) in ops.iter().enumerate() {
        let view = program.view(op);
        if view.def().terminator() {
            break;
        }
        let dying: Vec<Value> = {
            let mut dying = Vec::new();
            each_read(program, op, traffic, &mut |v| {
                if last.get(&v) == Some(&i) && here.contains(&v) && !kept.contains(&v) {
                    dying.push(v);
                }
            });
            dying.sort_unstable();
            dying.dedup();
            dying
        };
        let results: Vec<Value> = view.results().filter(|&v| traffic.in_memory(v)).collect();
        let mut size: f64 = results.iter().map(|&v| bytes_of(program, v)).sum();
        let freed: f64 = dying.iter().map(|&v| bytes_of(program, v)).sum();
        let taken_over = if matches!(view.def().control(view), Some(Control::While | Control::Identity)) {
            freed
        } else if view.def().elementwise() && dying.iter().any(|&v| bytes_of(program, v) == size) {
            size
        } else {
            0.0
        };
        let literal = view.def().constant(view).map(|l| l.stored_bytes().len() as f64);
        if let Some(stored) = literal {
            size = size.min(stored);
        }
        let inside = program
            .op(op)
            .regions
            .iter()
            .flat_map(|&r| program.region_blocks(r))
            .map(|&inner| peak(program, inner, live, &[], kept, traffic));
        top = inside.fold(top, f64::max);
        live += size - taken_over;
        top = top.max(live);
        live -= freed - taken_over;
        for v in dying {
            here.remove(&v);
        }
        // What nobody reads is gone at once.
        for v in results {
            if last.contains_key(&v) {
                here.insert(v);
            } else {
                live -= bytes_of(program, v);
            }
        }
    }
    top
}

/// The values in memory that an op reads, in its regions too.
fn each_read(program: &Program, op: Op, traffic: &Traffic, f: &mut dyn FnMut(Value)) {
    traffic.reads(program, op).into_iter().for_each(&mut *f);
    for &region in &program.op(op).regions {
        for &block in program.region_blocks(region) {
            program.walk(block, &mut |inner| traffic.reads(program, inner).into_iter().for_each(&mut *f));
        }
    }
}
