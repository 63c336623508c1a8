//! Common subexpression elimination: of ops that compute the same from the same operands, only the first is kept.
//!
//! An op can be replaced by an earlier one of its block or of an enclosing block, up to the next isolated op (a
//! function). Ops with side effects and ops with regions stay. Shardings and other attributes must be equal, locations
//! needn't.

use dialect::ir::{AttrList, Block, Name, Op, Program, Ty, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::pass::Pass;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "cse",
    doc: "Compute once what ops without side effects compute several times.",
    options: &[],
    run: |program, _, _| {
        let mut renamed = FxHashMap::default();
        block(program, program.body(), &mut FxHashMap::default(), &mut renamed);
    },
};

/// What must be equal: an op's name, operands, attributes and the types of its results.
type Meaning = (Name, SmallVec<[Value; 3]>, AttrList, SmallVec<[Ty; 1]>);

/// Goes through a block in order. `known` are the ops visible to its ops, `renamed` the results that were replaced.
fn block(program: &mut Program, at: Block, known: &mut FxHashMap<Meaning, Op>, renamed: &mut FxHashMap<Value, Value>) {
    let mut added: Vec<Meaning> = Vec::new();
    let mut kept = Vec::new();
    for op in program.block_ops(at).to_vec() {
        program.rename_operands(op, renamed);
        if let Some(meaning) = meaning(program, op) {
            if let Some(&first) = known.get(&meaning) {
                renamed.extend(program.results(op).zip(program.results(first)));
                continue;
            }
            known.insert(meaning.clone(), op);
            added.push(meaning);
        }
        kept.push(op);
        let isolated = program.op(op).def.isolated();
        for region in program.op(op).regions.clone() {
            for inner in program.region_blocks(region).to_vec() {
                match isolated {
                    true => block(program, inner, &mut FxHashMap::default(), renamed),
                    false => block(program, inner, known, renamed),
                }
            }
        }
    }
    program.set_block_ops(at, kept);
    // Ops after the block may not read values defined inside it.
    for meaning in added {
        known.remove(&meaning);
    }
}

/// What must be equal for another op to compute the same; `None` for ops that are always kept.
fn meaning(program: &Program, op: Op) -> Option<Meaning> {
    let (data, view) = (program.op(op), program.view(op));
    if !data.regions.is_empty() || data.def.terminator() || data.def.side_effect(view) {
        return None;
    }
    let types = program.results(op).map(|v| program.value_type(v)).collect();
    Some((data.name, data.operands.clone(), data.attrs.clone(), types))
}
