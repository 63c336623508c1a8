//! Merges permutes between the same pairs of devices: halos of several tensors, and rows that neighbors exchange in
//! both directions, are sent together.
//!
//! Each permute has a height: the length of the longest chain of permutes that depend on it. Permutes of one height
//! don't depend on each other, and merging them in any way creates no cycle, since heights fall along every path
//! between permutes. Because heights count from the end, a permute is sent with the last ones that it can wait for: the
//! rows of an argument wait for rows computed meanwhile.

use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, ElementClass, ElementType, Loc, LocData, Op, Program, Value};
use dialect::op::CollectiveKind;
use dialect::ops::build;
use dialect::ops::func;
use dialect::text::CAUSE;
use rustc_hash::FxHashMap;

use super::order::{Dependences, Merged};
use crate::estimate::{Machine, Route, bytes_of};
use crate::heuristics::HEURISTICS;

/// Merges permutes in every block where that is faster; returns whether it merged any.
pub(super) fn join(program: &mut Program, machine: &Machine) -> bool {
    let mut renamed: FxHashMap<Value, Value> = FxHashMap::default();
    for block in program.blocks_under(program.body()) {
        join_block(program, machine, block, &mut renamed);
    }
    program.rename(&renamed);
    !renamed.is_empty()
}

/// Permutes that are sent together.
struct Group {
    /// The element type that is sent: that of the members, or an integer type for their bits.
    carrier: ElementType,
    /// Positions in the block, descending.
    members: Vec<usize>,
    bytes: f64,
    route: Option<Route>,
}

/// Returns the pairs of a permute that may be merged with others, and the element type to send it as.
fn candidate(program: &Program, op: Op) -> Option<(Attr, ElementType)> {
    let view = program.view(op);
    let collective = view.def().collective(view).filter(|c| c.kind == CollectiveKind::CollectivePermute)?;
    let &[operand] = view.operands() else { return None };
    let ty = program.tensor_type(operand)?;
    let empty = !ty.shape.iter().all(|&n| n > 0) || collective.groups.pairs().next().is_none();
    let carrier = match (ty.element.class(), ty.element.bits()) {
        (ElementClass::Other, _) => return None,
        (ElementClass::Bool | ElementClass::Complex, _) => ty.element,
        (_, 8) => ElementType::UI8,
        (_, 16) => ElementType::UI16,
        (_, 32) => ElementType::UI32,
        (_, 64) if ty.element != ElementType::Index => ElementType::UI64,
        _ => ty.element,
    };
    let joins = !empty && !view.def().side_effect(view);
    let pairs = view.def().groups(view).and_then(|rule| view.attr_id(rule.attribute));
    pairs.filter(|_| joins).map(|pairs| (pairs, carrier))
}

fn join_block(program: &mut Program, machine: &Machine, block: Block, renamed: &mut FxHashMap<Value, Value>) {
    let candidates: Vec<Option<(Attr, ElementType)>> =
        program.block_ops(block).iter().map(|&op| candidate(program, op)).collect();
    if candidates.iter().flatten().count() < 2 {
        return;
    }
    let dependences = Dependences::of(program, block);
    let mut heights = vec![0; candidates.len()];
    for i in (0..candidates.len()).rev() {
        let height = heights[i] + usize::from(candidates[i].is_some());
        for &w in &dependences.waits[i] {
            heights[w] = heights[w].max(height);
        }
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut known: FxHashMap<(Attr, usize, ElementType), usize> = FxHashMap::default();
    for (i, &(pairs, carrier)) in candidates.iter().enumerate().rev().filter_map(|(i, c)| Some((i, c.as_ref()?))) {
        let bytes = bytes_of(program, program.result(dependences.ops[i], 0));
        let height = heights[i];
        let at = *known.entry((pairs, height, carrier)).or_insert_with(|| {
            groups.push(Group { carrier, members: Vec::new(), bytes: 0.0, route: None });
            groups.len() - 1
        });
        let group = &mut groups[at];
        if group.members.len() == 1 && group.route.is_none() {
            group.route = route(program, machine, dependences.ops[i]);
        }
        if group.members.is_empty() || pays(machine, group.route.as_ref(), group.bytes, bytes) {
            group.members.push(i);
            group.bytes += bytes;
        }
    }
    groups.retain(|g| g.members.len() > 1);
    if groups.is_empty() {
        return;
    }
    let merged = groups.into_iter().map(|Group { carrier, mut members, .. }| {
        members.reverse();
        let sent: Vec<Op> = members.iter().map(|&m| dependences.ops[m]).collect();
        let mut ops = Vec::new();
        let new = send(program, &sent, carrier, &mut ops);
        renamed.extend(sent.iter().map(|&m| program.result(m, 0)).zip(new));
        Merged { members, ops }
    });
    let merged = merged.collect();
    dependences.replace(program, block, merged);
}

/// Returns whether sending `b` bytes together with the `a` bytes of another permute saves more than packing costs:
/// every byte is written and read once more before and after.
fn pays(machine: &Machine, route: Option<&Route>, a: f64, b: f64) -> bool {
    let seconds = |bytes: f64| machine.permute_seconds(bytes as u64, route);
    let saved = seconds(a) + seconds(b) - seconds(a + b) - machine.memory_seconds(4.0 * b);
    saved >= HEURISTICS.gain * seconds(a.min(b))
}

/// Returns the load of a permute on the links between chips, on machines with a placement.
fn route(program: &Program, machine: &Machine, op: Op) -> Option<Route> {
    machine.placement()?;
    let view = program.view(op);
    let groups = view.def().collective(view)?.groups;
    let partitions = func::num_partitions(program).max(1);
    let position = |d: i64| machine.position(d.rem_euclid(partitions));
    machine.route(&groups.pairs().map(|(s, t)| (position(s), position(t))).collect::<Vec<_>>())
}

/// Builds one permute of all operands of `members`; returns the values that replace their results.
fn send(program: &mut Program, members: &[Op], carrier: ElementType, ops: &mut Vec<Op>) -> Vec<Value> {
    let data = program.op(members[0]).clone();
    let name = program.op_name(members[0]).to_owned();
    let mut locs: Vec<Loc> = members.iter().map(|&m| program.op(m).loc).collect();
    locs.dedup();
    let loc = match locs[..] {
        [only] => only,
        _ => program.intern_loc(LocData::Fused(None, locs)),
    };
    let causes: Vec<Attr> = members.iter().filter_map(|&m| program.attr(m, CAUSE)).collect();
    let mut attrs = data.attrs.to_vec();
    attrs.retain(|a| program.name_text(a.0) != CAUSE);
    if causes.len() == members.len() {
        attrs.push((program.name(CAUSE), program.intern_attr(AttrData::Array(causes))));
    }
    let operands: Vec<Value> = members.iter().map(|&m| program.op(m).operands[0]).collect();
    let types: Vec<_> = operands.iter().filter_map(|&v| program.tensor_type(v).cloned()).collect();
    let same = types.windows(2).all(|t| t[0].element == t[1].element);
    let element = if same { types[0].element } else { carrier };
    let mut b = Builder::new(program, ops, loc);
    let lines: Vec<Value> = (operands.iter().zip(&types))
        .map(|(&value, ty)| {
            let value = if ty.element == element { value } else { build::bitcast(&mut b, value, element) };
            build::shape::reshape(&mut b, value, &[ty.shape.iter().product()])
        })
        .collect();
    let line = build::shape::concatenate(&mut b, &lines, 0);
    let ty = b.program.value_type(line);
    let op = b.raw(data.def, &name, &[line], &[ty], &attrs, &[]);
    b.program.op_mut(op).span = data.span;
    let line = b.program.result(op, 0);
    let mut start = 0;
    let mut given = Vec::with_capacity(types.len());
    for ty in &types {
        let elements: i64 = ty.shape.iter().product();
        let part = build::shape::slice_dim(&mut b, line, 0, start, start + elements);
        let part = build::shape::reshape(&mut b, part, &ty.shape);
        given.push(if ty.element == element { part } else { build::bitcast(&mut b, part, ty.element) });
        start += elements;
    }
    given
}
