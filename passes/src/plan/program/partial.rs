//! Removes the all-reduces that propagation inserted after values stated as unreduced, so that the plan chooses how
//! partial results are combined, together with the distribution of the result. A reduce-scatter moves half the bytes of
//! an all-reduce.

use dialect::ir::{Block, Op, Program, Value};
use dialect::sharding::Reshard;
use rustc_hash::FxHashMap;

use super::propagated::Propagated;

/// Makes the users of all-reduced values under `block` read the partial results.
pub(crate) fn leave(program: &mut Program, propagated: &Propagated, block: Block) {
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(block) {
        let old = program.block_ops(block).to_vec();
        let mut ops = Vec::with_capacity(old.len());
        for &op in &old {
            match partial(program, propagated, op) {
                Some((result, operand)) => {
                    renamed.insert(result, renamed.get(&operand).copied().unwrap_or(operand));
                }
                None => ops.push(op),
            }
        }
        if ops.len() < old.len() {
            program.set_block_ops(block, ops);
        }
    }
    if !renamed.is_empty() {
        program.rename(&renamed);
    }
}

/// Returns the result and the operand of an op that combines all partial results of a value and doesn't move its
/// shards.
fn partial(program: &Program, propagated: &Propagated, op: Op) -> Option<(Value, Value)> {
    let view = program.view(op);
    let Some(Reshard::AllReduce(..)) = view.def().reshard(view) else { return None };
    let (operand, result) = (*view.operands().first()?, view.results().next()?);
    let (before, after) = (propagated.get(program, operand), propagated.get(program, result));
    (!before.unreduced.is_empty() && after == before.reduced()).then_some((result, operand))
}
