//! mpmd-scopes: turns ops under a name scope of JAX (`jax.named_scope`) into named computations.
//!
//! JAX writes the names in ops' locations: `jit(step)/jvp(stage0)/dot_general` is an op of the forward computation of
//! `stage0`, `jit(step)/transpose(jvp(stage0))/dot_general` one of its backward computation. Ops with one name are in
//! one computation, unless ops with other names in between depend on some of them and others of them depend on those.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::build::Builder;
use dialect::ir::{AttrData, Block, Loc, LocData, Name, Op, Program, Renaming, Ty, Value};
use dialect::op::{Constancy, OpDef};
use dialect::ops::func;
use dialect::ops::mpmd::{self, Kind, Topology};
use rustc_hash::{FxHashMap, FxHashSet};

use super::outline;
use crate::options::Options;

/// A name, and the number of times JAX transposed the ops under it.
type Scope = (Name, i64);

pub(super) fn scopes(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let (Some(_), Some(block)) = (Topology::of(program, main), func::block(program, main)) else { return };
    if dialect::signature::is_stated(program, main) {
        return;
    }
    let wanted = new_names(program, options, block);
    if wanted.is_empty() {
        return;
    }
    let Slots { slots, constants } = Slots::of(program, block, &wanted);
    let found: FxHashSet<Name> = slots.iter().filter_map(|slot| Some(slot.0?.0)).collect();
    for name in wanted.iter().filter(|wanted| !found.iter().any(|&name| matches(wanted, program.name_text(name)))) {
        let message = format!("no op is in a scope called \"{name}\"");
        let d = Diagnostic::error(codes::MESH_ASSIGNMENT, program.op(main).span, message);
        diagnostics.push(
            d.note("scopes are those of jax.named_scope in the locations of ops; as_text(debug_info=True) prints them"),
        );
    }
    let readers = readers(program, &slots);
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    let mut new = Vec::new();
    for (at, (scope, ops)) in slots.into_iter().enumerate() {
        match scope {
            Some(scope) => named(program, scope, &ops, &readers[at], &constants, &mut renamed, &mut new),
            None => new.extend(ops),
        }
    }
    program.set_block_ops(block, new);
    program.rename(&renamed);
}

/// Returns the names that the options give to scopes, without those that named computations of `block` already have.
fn new_names(program: &Program, options: &Options, block: Block) -> Vec<String> {
    let computations = program.block_ops(block).iter().map(|&op| program.view(op));
    let computations = computations.filter(|&view| mpmd::kind(view) == Some(Kind::NamedComputation));
    let known: FxHashSet<Name> = computations.flat_map(mpmd::origins).map(|origin| origin.0).collect();
    let [assign, stages] = [&options.compile.assign, &options.compile.stages].map(|list| list.as_deref().unwrap_or(""));
    let assigned = assign.split(',').filter_map(|entry| Some(entry.split_once('@')?.0));
    let is_new = |name: &&str| !name.is_empty() && program.find_name(name).is_none_or(|name| !known.contains(&name));
    stages.split(',').chain(assigned).filter(is_new).map(str::to_owned).collect()
}

/// The ops of a block in stretches, each of one scope or of none.
struct Slots {
    /// First the constants: each computation copies those it reads.
    slots: Vec<(Option<Scope>, Vec<Op>)>,
    constants: FxHashSet<Value>,
}

impl Slots {
    fn of(program: &mut Program, block: Block, wanted: &[String]) -> Self {
        let mut of_locations: FxHashMap<Loc, Option<Scope>> = FxHashMap::default();
        let mut slots: Vec<(Option<Scope>, Vec<Op>)> = vec![(None, Vec::new())];
        let mut constants: FxHashSet<Value> = FxHashSet::default();
        let mut slot_of_value: FxHashMap<Value, usize> = FxHashMap::default();
        let mut open: FxHashMap<Scope, usize> = FxHashMap::default();
        for op in program.block_ops(block).to_vec() {
            let view = program.view(op);
            if view.operands().is_empty() && view.region(0).is_none() && view.def().constancy(view) != Constancy::No {
                constants.extend(view.results());
                slots[0].1.push(op);
                continue;
            }
            let plain = mpmd::kind(view).is_none() && !view.def().terminator() && !view.def().side_effect(view);
            let loc = program.op(op).loc;
            let scope = *of_locations
                .entry(loc)
                .or_insert_with(|| scope_of(program, loc, wanted).map(|(name, times)| (program.name(&name), times)));
            let scope = scope.filter(|_| plain);
            let after = outline::reads(program, &[op]).iter().filter_map(|v| slot_of_value.get(v).copied()).max();
            let slot = scope.and_then(|scope| open.get(&scope).copied());
            let slot = slot.filter(|&slot| after.is_none_or(|after| after <= slot)).unwrap_or_else(|| {
                slots.push((scope, Vec::new()));
                slots.len() - 1
            });
            open.extend(scope.map(|scope| (scope, slot)));
            slots[slot].1.push(op);
            slot_of_value.extend(program.results(op).map(|v| (v, slot)));
        }
        Self { slots, constants }
    }
}

/// Returns for each slot the values that other slots read.
fn readers(program: &Program, slots: &[(Option<Scope>, Vec<Op>)]) -> Vec<FxHashSet<Value>> {
    let made = slots.iter().enumerate().flat_map(|(at, slot)| slot.1.iter().map(move |&op| (at, op)));
    let made_in: FxHashMap<Value, usize> =
        made.flat_map(|(at, op)| program.results(op).map(move |v| (v, at))).collect();
    let mut read = vec![FxHashSet::default(); slots.len()];
    for (_, ops) in slots {
        for value in outline::reads(program, ops) {
            if let Some(&at) = made_in.get(&value) {
                read[at].insert(value);
            }
        }
    }
    read
}

/// Turns ops into a named computation.
fn named(
    program: &mut Program,
    scope: Scope,
    ops: &[Op],
    read: &FxHashSet<Value>,
    constants: &FxHashSet<Value>,
    renamed: &mut FxHashMap<Value, Value>,
    new: &mut Vec<Op>,
) {
    let (Some(&first), all) = (ops.first(), outline::reads(program, ops)) else { return };
    let (made, inputs): (Vec<Value>, Vec<Value>) = all.into_iter().partition(|v| constants.contains(v));
    let outputs: Vec<Value> = ops.iter().flat_map(|&op| program.results(op)).filter(|v| read.contains(v)).collect();
    if outputs.is_empty() {
        return;
    }
    let types: Vec<Ty> = inputs.iter().map(|&v| program.value_type(v)).collect();
    let results: Vec<Ty> = outputs.iter().map(|&v| program.value_type(v)).collect();
    let (loc, span) = (program.op(first).loc, program.op(first).span);
    let origin = program.intern_attr(AttrData::Origin(scope.0, scope.1));
    let origin = (program.name(mpmd::ORIGIN), origin);
    let mut b = Builder::new(program, new, loc);
    let region = b.region(&types, |b, args| {
        let mut renaming = Renaming::default();
        renaming.values.extend(inputs.iter().copied().zip(args.iter().copied()));
        made.iter().for_each(|&constant| outline::clone_constant(b, constant, &mut renaming));
        for &op in ops {
            let copy = b.program.clone_op(op, &mut renaming);
            b.ops.push(copy);
        }
        let given: Vec<Value> = outputs.iter().map(|&v| renaming.value(v)).collect();
        b.op(&mpmd::RETURN, &given, &[], &[]);
    });
    let def = &mpmd::NAMED_COMPUTATION;
    let op = b.raw(def, def.name(), &inputs, &results, &[origin], &[region]);
    program.op_mut(op).span = span;
    renamed.extend(outputs.into_iter().zip(program.results(op)));
}

/// Returns the outermost of these names in a location.
fn scope_of(program: &Program, loc: Loc, wanted: &[String]) -> Option<(String, i64)> {
    match &*program.loc_data(loc) {
        LocData::Name(name, child) => {
            in_path(&program.loc_string(*name).shown(), 0, wanted).ok().or_else(|| scope_of(program, *child, wanted))
        }
        LocData::CallSite(callee, caller) => {
            scope_of(program, *caller, wanted).or_else(|| scope_of(program, *callee, wanted))
        }
        LocData::Fused(_, parts) => parts.iter().find_map(|&part| scope_of(program, part, wanted)),
        LocData::Unknown | LocData::File { .. } => None,
    }
}

/// Returns the first of these names in a path, and how often it was transposed; else how often the whole path was.
fn in_path(path: &str, mut transposed: i64, wanted: &[String]) -> Result<(String, i64), i64> {
    let mut depth = 0;
    let parts = path.split(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == '/' && depth == 0
    });
    for part in parts {
        match part.strip_suffix(')').and_then(|part| part.split_once('(')) {
            Some((transform, inner)) => match in_path(inner, i64::from(transform == "transpose"), wanted) {
                Ok((name, times)) => return Ok((name, transposed + times)),
                Err(times) => transposed += times,
            },
            None if wanted.iter().any(|name| matches(name, part)) => return Ok((part.to_owned(), transposed)),
            None => {}
        }
    }
    Err(transposed)
}

/// Returns whether `name` matches `wanted`; `layer*` matches all names that begin with `layer`.
fn matches(wanted: &str, name: &str) -> bool {
    wanted.strip_suffix('*').map_or(wanted == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::in_path;

    #[test]
    fn names_stand_in_paths() {
        let wanted = ["stage*".to_owned(), "head".to_owned()];
        let found = |path: &str| in_path(path, 0, &wanted).ok();
        assert_eq!(found("jit(step)/stage0/dot_general"), Some(("stage0".to_owned(), 0)));
        assert_eq!(found("jit(step)/transpose(jvp(stage12))/mul"), Some(("stage12".to_owned(), 1)));
        assert_eq!(found("jit(step)/transpose(jvp(outer))/head/mul"), Some(("head".to_owned(), 1)));
        assert_eq!(found("jit(step)/jvp(outer/stage1)/stage2/mul"), Some(("stage1".to_owned(), 0)));
        assert_eq!(found("jit(step)/headless/mul"), None);
        assert_eq!(found("jit(step/(("), None);
    }
}
