//! Functions and other symbols, and the ops that refer to them: calls, compositions, custom calls.

use dialect::ir::{Attr, AttrData, Op, Program};
use dialect::ops::func;
use rustc_hash::{FxHashMap, FxHashSet};

/// Removes private functions that no other op at the top of the module reaches by references.
pub(crate) fn remove_unused_functions(program: &mut Program) {
    let top = program.block_ops(program.body()).to_vec();
    let public: Vec<Op> = top.iter().copied().filter(|&op| !is_private(program, op)).collect();
    let kept = led_to(program, &public);
    program.set_block_ops(program.body(), top.into_iter().filter(|op| kept.contains(op)).collect());
}

/// Returns `roots` and all symbols that they refer to by name, directly or indirectly.
pub(crate) fn led_to(program: &Program, roots: &[Op]) -> FxHashSet<Op> {
    let top = program.block_ops(program.body()).iter();
    let names: FxHashMap<&str, Op> = top.filter_map(|&op| Some((func::symbol(program, op)?, op))).collect();
    let mut live: FxHashSet<Op> = roots.iter().copied().collect();
    let mut stack = roots.to_vec();
    while let Some(op) = stack.pop() {
        let mut symbols = Vec::new();
        let mut see = |op: Op| symbols.extend(references(program, op));
        see(op);
        for &region in &program.op(op).regions {
            for &block in program.region_blocks(region) {
                program.walk(block, &mut see);
            }
        }
        let named = symbols.iter().filter_map(|name| names.get(name.as_str()).copied());
        stack.extend(named.filter(|&op| live.insert(op)));
    }
    live
}

/// Returns the symbols that the attributes of `op` name.
pub(crate) fn references(program: &Program, op: Op) -> Vec<String> {
    let mut symbols = Vec::new();
    program.op(op).attrs.iter().for_each(|a| symbols_in(program, a.1, &mut symbols));
    symbols
}

/// Returns whether it is a private function.
pub(crate) fn is_private(program: &Program, op: Op) -> bool {
    func::is_function(program.view(op))
        && program.view(op).attr("sym_visibility").and_then(AttrData::as_str) == Some("private")
}

fn symbols_in(program: &Program, attr: Attr, out: &mut Vec<String>) {
    match program.attr_data(attr) {
        AttrData::Symbol(name) => out.push(name.to_string()),
        AttrData::Array(items) => items.iter().for_each(|&a| symbols_in(program, a, out)),
        AttrData::Dict(entries) | AttrData::Struct(_, entries) => {
            entries.iter().for_each(|e| symbols_in(program, e.1, out));
        }
        _ => {}
    }
}
