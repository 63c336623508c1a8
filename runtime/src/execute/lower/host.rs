//! Removes a program's communication with the host, because machine code has no host to communicate with.
//!
//! Tokens become tensors without elements, so that loops and branches still carry them. Ops that only send are removed.

use dialect::ir::build::Builder;
use dialect::ir::{Block, ElementType, Op, Program, TypeData, Value};
use dialect::ops::build;
use dialect::scalar::Scalar;
use rustc_hash::FxHashMap;

/// Removes tokens, and the ops that only produce tokens or only send to the host, under the body of `@main`.
pub(super) fn skip_effects(program: &mut Program, block: Block) {
    let is_token = |program: &Program, v: Value| *program.type_data(program.value_type(v)) == TypeData::Token;
    let tokens: Vec<Value> = program.values_under(block).into_iter().filter(|&v| is_token(program, v)).collect();
    let skipped = |program: &Program, op: Op| {
        let view = program.view(op);
        let only_tokens = view.result_count() > 0 && program.results(op).all(|v| is_token(program, v));
        let makes_token = only_tokens && program.op(op).regions.is_empty() && !view.def().side_effect(view);
        view.def().host_effect(view).map_or(makes_token && view.def().control(view).is_none(), |e| !e.returns_data)
    };
    let mut renamed = FxHashMap::default();
    for inner in program.blocks_under(block) {
        let old = program.block_ops(inner).to_vec();
        if !old.iter().any(|&op| skipped(program, op)) {
            continue;
        }
        let mut ops = Vec::with_capacity(old.len());
        for op in old {
            if !skipped(program, op) {
                ops.push(op);
                continue;
            }
            let loc = program.op(op).loc;
            for result in program.results(op).collect::<Vec<_>>() {
                let mut b = Builder::new(program, &mut ops, loc);
                renamed.insert(result, build::splat(&mut b, ElementType::I1, &[0], Scalar::Int(0)));
            }
        }
        program.set_block_ops(inner, ops);
    }
    program.rename(&renamed);
    let empty = program.tensor(&[0], ElementType::I1);
    tokens.into_iter().for_each(|v| program.set_value_type(v, empty));
}
