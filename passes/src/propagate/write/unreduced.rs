//! Inserts the collectives of unreduced values: all-reduces before users that don't take them, and ops that make values
//! unreduced where a sharding states it. Source: Shardy, `insert-explicit-reshards`.

use dialect::ir::Program;
use dialect::ops::build;
use dialect::sharding::axis::{Prefix, difference, prefix, sort_and_merge};
use dialect::sharding::{Axes, AxisList, AxisPart, AxisRef, FactorKind, ReductionKind, Reshard};

use super::conflict::{project, tensors};
use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::sharding::Sharding;
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Node, Place, Slot, Use, Val};

/// Removes all-reduces of values that were just made unreduced along the same axes: replicated values are read from
/// before that op, and shards are gathered instead. Source: Shardy, `canonicalization`.
pub(super) fn combine_what_was_parted(engine: &mut Engine, program: &mut Program) {
    for node in engine.graph.postorder(program, program.body()) {
        let Some(op) = engine.graph.op(node) else { continue };
        let view = program.view(op);
        let Some(Reshard::AllReduce(axes, _)) = view.def().reshard(view) else { continue };
        let Some(parts) = engine.graph.operands(node).next() else { continue };
        let parting = engine.graph.def(parts);
        let Some(made) = Some(parting).filter(|n| n.is_some()).and_then(|n| engine.graph.op(n)) else { continue };
        let Some(source) = engine.graph.operands(parting).next() else { continue };
        let made = program.view(made);
        let result = engine.graph.result(node, 0);
        match made.def().reshard(made) {
            Some(Reshard::ReplicatedToUnreduced(same, _)) if same == axes => {
                engine.graph.replace_uses(result, source, |_, _| true);
            }
            Some(Reshard::ShardedToUnreduced(per_dim, _)) => {
                let Some(out) = engine.sharding(result).cloned() else { continue };
                let mesh = engine.meshes.get(out.mesh);
                let compact = |axes: &[AxisRef]| {
                    let mut axes: Axes = axes.iter().filter_map(|&a| mesh.axis(a)).collect();
                    sort_and_merge(&mut axes);
                    axes
                };
                if compact(&per_dim.iter().flatten().copied().collect::<AxisList>()) != compact(&axes) {
                    continue;
                }
                let change = Reshard::AllGather(per_dim);
                let made = new_collective(engine, program, source, &change, out, Place::Before(node));
                let Some(gather) = made else { continue };
                let gathered = engine.graph.result(gather, 0);
                engine.graph.replace_uses(result, gathered, |_, _| true);
            }
            _ => continue,
        }
        engine.graph.erase(program, node);
    }
}

/// Gives the operands of returns the same unreduced axes as the function's results.
pub(super) fn settle_returns(engine: &mut Engine, program: &mut Program) {
    let functions = engine.main.iter().chain(&engine.functions);
    let returned: Vec<(Use, Slot, Node)> = functions
        .flat_map(|f| {
            let uses = engine.graph.operand_uses(f.terminator);
            uses.zip(f.slots.iter().copied()).map(|(u, slot)| (u, slot, f.terminator)).collect::<Vec<_>>()
        })
        .collect();
    for (u, slot, terminator) in returned {
        let target = engine.shardings.get(engine.graph.slots[slot]).cloned();
        carry_unreduced(engine, program, u, target.as_ref(), Place::Before(terminator));
    }
}

/// Gives the values that flow through an op with regions the unreduced axes of their targets: first its results in
/// order, then its arguments; the edges were added in the opposite order.
pub(super) fn settle_flow(engine: &mut Engine, program: &mut Program, node: Node, edges: &[usize]) {
    for &edge in edges.iter().rev() {
        let data = &engine.graph.edges[edge];
        let owner = Val::new(data.owner.index());
        let target = match (engine.manual.get(&node), data.of_result) {
            (Some(manual), true) => manual.outputs.get(data.index).map(|s| manual.without_manual(s)),
            (Some(manual), false) => manual.inputs.get(data.index).cloned(),
            (None, _) => engine.sharding(owner).cloned(),
        };
        for u in data.sources.clone() {
            let place = engine.graph.after(engine.graph.value_of_use(u));
            carry_unreduced(engine, program, u, target.as_ref(), place);
        }
    }
}

/// Inserts an all-reduce before users that don't take an unreduced value. Replaces a reshard to an unreduced sharding
/// by the ops that produce one.
pub(super) fn settle_unreduced(engine: &mut Engine, program: &mut Program, node: Node) {
    let Some(result) = engine.graph.results(node).next() else { return };
    let target = engine.sharding(result).cloned();
    let place = Place::Before(node);
    let input = engine.graph.operands(node).next();
    if let (Kind::Reshard, Some(target), Some(input)) = (engine.graph.node(node).role.kind, &target, input)
        && let Some(value) = make_unreduced(engine, program, input, target, place)
    {
        engine.graph.replace_uses(result, value, |_, _| true);
        engine.graph.erase(program, node);
        return;
    }
    let wanted = target.map(|s| s.unreduced).unwrap_or_default();
    let uses: Vec<Use> = engine.graph.operand_uses(node).collect();
    for u in uses {
        combine_for(engine, program, u, &wanted, place);
    }
    reduce_to_promise(engine, program, node);
}

/// Gives the value of one use exactly the unreduced axes of `target`.
pub(super) fn carry_unreduced(
    engine: &mut Engine,
    program: &mut Program,
    u: Use,
    target: Option<&Sharding>,
    place: Place,
) {
    let wanted = target.map(|s| s.unreduced.clone()).unwrap_or_default();
    combine_for(engine, program, u, &wanted, place);
    let value = engine.graph.value_of_use(u);
    // Ops inserted after the value earlier stay before the ones inserted now.
    let place = if matches!(place, Place::Before(_)) { place } else { engine.graph.after(value) };
    if let Some(target) = target
        && let Some(value) = make_unreduced(engine, program, value, target, place)
    {
        engine.graph.set_use(u, value);
    }
}

/// Inserts an all-reduce for one user that takes only the axes `wanted` unreduced.
fn combine_for(engine: &mut Engine, program: &mut Program, u: Use, wanted: &[AxisPart], place: Place) {
    let value = engine.graph.value_of_use(u);
    let Some(own) = engine.sharding(value).filter(|s| !s.unreduced.is_empty()).cloned() else { return };
    let axes = difference(&own.unreduced, wanted);
    if axes.is_empty() {
        return;
    }
    let kind = own.kind;
    let new = Sharding { unreduced: difference(&own.unreduced, &axes), ..own };
    let change = Reshard::AllReduce(written(engine, &new, &axes), kind);
    if let Some(made) = new_collective(engine, program, value, &change, new, place) {
        engine.graph.set_use(u, engine.graph.result(made, 0));
    }
}

/// Makes `input` unreduced along the additional unreduced axes of `target`: axes that shard it keep their data in
/// place, the others start from replicated values. `None` when there are no additional axes.
fn make_unreduced(
    engine: &mut Engine,
    program: &mut Program,
    input: Val,
    target: &Sharding,
    place: Place,
) -> Option<Val> {
    let own = engine.sharding(input).cloned()?;
    let added = difference(&target.unreduced, &own.unreduced);
    if added.is_empty() || own.mesh != target.mesh || !difference(&own.unreduced, &target.unreduced).is_empty() {
        return None;
    }
    let mut between = target.clone();
    let mut from_shards: Vec<Axes> = vec![Axes::new(); own.dims.len()];
    let mut needs_reshard = false;
    for (d, (old, new)) in own.dims.iter().zip(&target.dims).enumerate() {
        match prefix(&new.axes, &old.axes) {
            Prefix::Equal => {}
            Prefix::Strict => {
                let rest = difference(&old.axes, &new.axes);
                if difference(&rest, &added).is_empty() {
                    between.dims[d].axes = old.axes.clone();
                    from_shards[d] = rest;
                } else {
                    needs_reshard = true;
                }
            }
            Prefix::None => needs_reshard = true,
        }
    }
    let mut chain = Chain { value: input, place };
    if needs_reshard {
        let moved = Sharding { dims: between.dims.clone(), ..own.clone() };
        let moved = engine.shardings.intern(moved);
        let made = engine.new_reshard(program, chain.value, moved, chain.place)?;
        chain.follow(engine, made);
    }
    let sharded: Vec<AxisPart> = from_shards.iter().flatten().copied().collect();
    let replicated = difference(&added, &sharded);
    if !replicated.is_empty() {
        let mut unreduced: Axes = own.unreduced.iter().chain(&replicated).copied().collect();
        sort_and_merge(&mut unreduced);
        let new = Sharding { unreduced, ..between };
        let change = Reshard::ReplicatedToUnreduced(written(engine, &new, &replicated), target.kind);
        let made = new_collective(engine, program, chain.value, &change, new, chain.place)?;
        chain.follow(engine, made);
    }
    if !sharded.is_empty() {
        let per_dim = from_shards.iter().map(|axes| written(engine, target, axes)).collect();
        let change = Reshard::ShardedToUnreduced(per_dim, target.kind);
        let made = new_collective(engine, program, chain.value, &change, target.clone(), chain.place)?;
        chain.follow(engine, made);
    }
    Some(chain.value)
}

/// A chain of inserted ops.
struct Chain {
    value: Val,
    place: Place,
}

impl Chain {
    fn follow(&mut self, engine: &Engine, made: Node) {
        self.value = engine.graph.result(made, 0);
        if !matches!(self.place, Place::Before(_)) {
            self.place = Place::After(made);
        }
    }
}

/// Reduces results that stay unreduced along some of the axes of their reduction along the other axes; skips rules that
/// the user wrote.
fn reduce_to_promise(engine: &mut Engine, program: &mut Program, node: Node) {
    if engine.graph.node(node).erased || engine.graph.node(node).role.kind == Kind::Reshard {
        return;
    }
    let Some(id) = engine.graph.node(node).rule.filter(|&id| !engine.rules[id].custom) else { return };
    let Some(first) = engine.graph.results(node).next() else { return };
    let Some(kept) = engine.sharding(first).map(|s| s.unreduced.clone()).filter(|u| !u.is_empty()) else { return };
    let rule = engine.rules[id].clone();
    let values = tensors(engine, node);
    let projection = project(engine, &rule, &values);
    let mut reduced = Axes::new();
    for f in (0..rule.factors()).filter(|&f| rule.kinds[f] == FactorKind::Reduction) {
        let axes = projection.tensors.iter().filter_map(|t| t.factors[f].as_ref()).map(|f| &f.axes).next();
        reduced.extend(axes.into_iter().flatten().copied());
    }
    let mut axes = difference(&reduced, &kept);
    if axes.is_empty() {
        return;
    }
    sort_and_merge(&mut axes);
    // Unlike Shardy, this uses the op's own reduction: partial sums remain sums even if the rest is reduced by a
    // maximum.
    let op = engine.graph.op(node).map(|op| program.view(op));
    let kind = op.and_then(|view| view.def().reduction(view)).unwrap_or_default();
    let place = Place::After(node);
    for value in engine.graph.results(node) {
        let Some(own) = engine.sharding(value).cloned() else { continue };
        let change = Reshard::AllReduce(written(engine, &own, &axes), kind);
        if let Some(made) = new_collective(engine, program, value, &change, own, place) {
            let result = engine.graph.result(made, 0);
            engine.graph.replace_uses(value, result, |graph, u| graph.user(u) != made);
        }
    }
}

/// Returns `axes` of the mesh of `sharding`, by name.
fn written(engine: &Engine, sharding: &Sharding, axes: &[AxisPart]) -> AxisList {
    engine.meshes.axes(sharding.mesh, axes)
}

/// Inserts a collective that makes `change` to `input`.
fn new_collective(
    engine: &mut Engine,
    program: &mut Program,
    input: Val,
    change: &Reshard,
    mut out: Sharding,
    place: Place,
) -> Option<Node> {
    if out.unreduced.is_empty() {
        out.kind = ReductionKind::Sum;
    }
    let value = engine.graph.program_value(input);
    let loc = program.value_loc(value);
    let op = build::sdy::collective(program, value, change, engine.meshes.write(&out), loc);
    let node = engine.graph.insert_op(program, op, &[input], place);
    let id = engine.shardings.intern(out);
    let slot = engine.graph.slot(engine.graph.result(node, 0));
    engine.graph.slots[slot] = id;
    Some(node)
}
