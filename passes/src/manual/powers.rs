//! Evaluates constants of powers of two (f8E8M0FNU) before XLA does.
//!
//! That type has no zero: a zero converted to it is NaN, by JAX, by XLA's own evaluator and by ours. XLA's import of
//! StableHLO folds the conversion of a constant zero to 2^-127 instead. JAX hides such constants in functions that it
//! calls, which we inline.

use dialect::fold::Constants;
use dialect::ir::build::Builder;
use dialect::ir::{Block, Op, Program, Value};
use dialect::ops::build;
use rustc_hash::FxHashMap;

/// The most elements of a value that is evaluated.
const LIMIT: usize = 1 << 12;

/// Replaces every op under `block` whose result is a constant of a type without zero.
pub(super) fn evaluate(program: &mut Program, block: Block) {
    let mut constants = Constants::default();
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(block) {
        let mut ops: Vec<Op> = Vec::new();
        for op in program.block_ops(block).to_vec() {
            let view = program.view(op);
            let has_none = view.result_tensor(0).is_some_and(|ty| !ty.element.has_zero());
            if has_none && view.def().constant(view).is_none() {
                let (result, loc) = (program.result(op, 0), program.op(op).loc);
                if let Some(literal) = constants.get(program, result, LIMIT) {
                    let constant = build::constant(&mut Builder::new(program, &mut ops, loc), literal);
                    renamed.insert(result, constant);
                    continue;
                }
            }
            ops.push(op);
        }
        program.set_block_ops(block, ops);
    }
    program.rename(&renamed);
}
