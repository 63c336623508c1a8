//! Inserts the reshards that Shardy's own propagation pipeline inserts where the shardings of an op's tensors disagree:
//! all that a concatenation needs, the one after a dot whose result would be sharded along its reduction's axes, those
//! around calls, and the collectives of unreduced values. All other conflicts are left to the pass that plans
//! communication. Source: Shardy, `insert-explicit-reshards`.

use dialect::ir::Program;
use dialect::op::ExplicitReshard;
use dialect::ops::build;
use dialect::sharding::axis::{Prefix, difference, prefix, sort_and_merge};
use dialect::sharding::{Axes, AxisList, AxisPart, AxisRef, FactorKind, ReductionKind, Reshard};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::outline::argument_shardings;
use crate::propagate::algorithm::common_axes::common_axes;
use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::projection::Projection;
use crate::propagate::algorithm::rule::Rule;
use crate::propagate::algorithm::sharding::{Sharding, ShardingId};
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Node, Place, Slot, Use, Val};

/// Inserts the reshards; with `keep`, only those that unreduced values need.
pub fn settle(engine: &mut Engine, program: &mut Program, keep: bool) {
    let any_unreduced = engine.shardings.iter().any(|s| !s.unreduced.is_empty());
    let mut edges: FxHashMap<Node, Vec<usize>> = FxHashMap::default();
    for (i, edge) in engine.graph.edges.iter().enumerate().filter(|_| any_unreduced) {
        edges.entry(edge.op).or_default().push(i);
    }
    for node in engine.graph.postorder(program, program.body()) {
        let role = engine.graph.node(node).role;
        let Some(op) = engine.graph.op(node).filter(|_| !role.terminator) else { continue };
        if role.kind == Kind::Call {
            settle_call(engine, program, node);
        }
        if role.kind == Kind::Call || role.kind == Kind::Function {
            continue;
        }
        if let Some(edges) = edges.get(&node) {
            settle_flow(engine, program, node, edges);
            continue;
        }
        // Operands that are still unreduced count, too: Shardy compares before it combines them.
        let first = engine.graph.results(node).next().map(|r| engine.graph.sharding(r));
        let differ = program.op(op).def.explicit_reshard() == ExplicitReshard::Operands
            && engine.graph.operands(node).any(|v| Some(engine.graph.sharding(v)) != first);
        if any_unreduced {
            settle_unreduced(engine, program, node);
        }
        let (Some(id), settles) = (engine.graph.node(node).rule, program.op(op).def.explicit_reshard()) else {
            continue;
        };
        if keep || settles == ExplicitReshard::No || engine.rules[id].custom {
            continue;
        }
        let rule = engine.rules[id].clone();
        let tensors = tensors(engine, node);
        let Some(mesh) = most_common_mesh(engine, &tensors) else { continue };
        match settles {
            ExplicitReshard::Operands if differ => settle_all(engine, program, node, &rule, mesh),
            ExplicitReshard::Operands => {}
            _ => settle_result(engine, program, node, &rule, mesh),
        }
    }
    if any_unreduced {
        settle_returns(engine, program);
        combine_what_was_parted(engine, program);
    }
}

/// Removes all-reduces of values that were just made unreduced along the same axes: replicated values are read from
/// before that op, and shards are gathered instead. Source: Shardy, `canonicalization`.
fn combine_what_was_parted(engine: &mut Engine, program: &mut Program) {
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
fn settle_returns(engine: &mut Engine, program: &mut Program) {
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
fn settle_flow(engine: &mut Engine, program: &mut Program, node: Node, edges: &[usize]) {
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

fn tensors(engine: &Engine, node: Node) -> SmallVec<[Val; 4]> {
    engine.graph.tensors(node).collect()
}

/// Returns the value before the barriers that `value` went through: its sharding counts when an op's conflicts are
/// resolved.
fn past_barriers(engine: &Engine, mut value: Val) -> Val {
    loop {
        let def = engine.graph.def(value);
        if !def.is_some() || !matches!(engine.graph.node(def).role.kind, Kind::Barrier(_)) {
            return value;
        }
        let Some(input) = engine.graph.operands(def).next() else { return value };
        value = input;
    }
}

/// Returns the mesh of most of the sharded `values`; `None` when they are on different meshes, ignoring the order of
/// devices.
fn most_common_mesh(engine: &Engine, values: &[Val]) -> Option<u32> {
    let shardings: Vec<&Sharding> = values.iter().filter_map(|&v| engine.sharding(past_barriers(engine, v))).collect();
    let mut mesh: Option<u32> = None;
    for s in &shardings {
        let Some(known) = mesh.filter(|&m| !engine.meshes.is_empty_mesh(m)) else {
            mesh = Some(s.mesh);
            continue;
        };
        if engine.meshes.is_empty_mesh(s.mesh) {
            continue;
        }
        let (a, b) = (&engine.meshes.get(known).mesh, &engine.meshes.get(s.mesh).mesh);
        if a.axes != b.axes || a.is_maximal() != b.is_maximal() {
            return None;
        }
        if b.device_ids.is_none() {
            mesh = Some(s.mesh);
        }
    }
    let mesh = mesh.filter(|&m| !engine.meshes.get(m).mesh.is_maximal())?;
    let mut counts: Vec<(u32, usize)> = Vec::new();
    let mut best = (mesh, 0);
    for s in shardings.iter().filter(|s| s.is_sharded()) {
        let at = counts.iter().position(|c| c.0 == s.mesh).unwrap_or_else(|| {
            counts.push((s.mesh, 0));
            counts.len() - 1
        });
        counts[at].1 += 1;
        if counts[at].1 > best.1 {
            best = counts[at];
        }
    }
    Some(best.0)
}

fn project(engine: &Engine, rule: &Rule, values: &[Val]) -> Projection {
    let shardings: SmallVec<[Option<&Sharding>; 4]> =
        values.iter().map(|&v| engine.sharding(past_barriers(engine, v))).collect();
    Projection::new(rule, &shardings, true)
}

/// Gives all tensors of an op compatible shardings.
fn settle_all(engine: &mut Engine, program: &mut Program, node: Node, rule: &Rule, mesh: u32) {
    let values = tensors(engine, node);
    let mut projection = project(engine, rule, &values);
    let elements: Vec<i64> = (values.iter())
        .map(|&v| program.tensor_type(engine.graph.program_value(v)).and_then(|t| t.elements()).unwrap_or(0) as i64)
        .collect();
    let info = &engine.meshes.get(mesh).mesh;
    let axes = common_axes(rule, &projection, &elements, &|a| program.name_text(info.axes[a as usize].0).to_owned());
    let devices = info.device_ids.clone();
    let mut changed: Vec<bool> = projection.tensors.iter().map(has_overflow).collect();
    for (tensor, changed) in projection.tensors.iter_mut().zip(&mut changed) {
        for (f, axes) in axes.iter().enumerate() {
            *changed |= tensor.replace(f, axes);
        }
    }
    for (t, &value) in values.iter().enumerate() {
        let other_devices = engine
            .sharding(past_barriers(engine, value))
            .is_some_and(|s| s.is_sharded() && engine.meshes.get(s.mesh).mesh.device_ids != devices);
        if !changed[t] && !other_devices {
            continue;
        }
        let new = projection.tensors[t].sharding(rule, &rule.tensors[t], mesh);
        let new = engine.shardings.intern(new);
        if t < projection.operands {
            let Some(reshard) = engine.new_reshard(program, value, new, Place::Before(node)) else { continue };
            let result = engine.graph.result(reshard, 0);
            if let Some(u) = engine.graph.operand_uses(node).nth(t) {
                engine.graph.set_use(u, result);
            }
        } else {
            reshard_result(engine, program, node, value, new, mesh);
        }
    }
}

fn has_overflow(tensor: &crate::propagate::algorithm::projection::TensorFactors) -> bool {
    tensor.factors.iter().flatten().any(|f| !f.overflow.is_empty())
}

/// Gives a result a new sharding, and its users a reshard to the old one.
fn reshard_result(engine: &mut Engine, program: &mut Program, node: Node, value: Val, new: ShardingId, mesh: u32) {
    let old = match engine.graph.sharding(value) {
        ShardingId::NONE => engine.shardings.intern(Sharding::replicated(mesh, engine.graph.rank(value))),
        old => old,
    };
    if let Some(reshard) = engine.new_reshard(program, value, old, Place::After(node)) {
        let result = engine.graph.result(reshard, 0);
        engine.graph.replace_uses(value, result, |graph, u| graph.user(u) != reshard);
        engine.set_sharding(value, new);
    }
}

/// Lets a dot compute its result in its operands' sharding when exactly one dimension of the result is sharded along
/// the reduction's axes instead, and the result is no larger than the operand that this dimension comes from.
fn settle_result(engine: &mut Engine, program: &mut Program, node: Node, rule: &Rule, mesh: u32) {
    let values = tensors(engine, node);
    let [lhs, rhs, result] = values[..] else { return };
    if !engine.graph.sharding(result).is_some() {
        return;
    }
    let mut projection = project(engine, rule, &values);
    let elements = |v: Val| program.tensor_type(engine.graph.program_value(v)).and_then(|t| t.elements()).unwrap_or(0);
    let (lhs_size, rhs_size, result_size) = (elements(lhs), elements(rhs), elements(result));
    let mut conflict: Option<(usize, Axes)> = None;
    let (mut reduced, mut seen) = (Axes::new(), Axes::new());
    for f in 0..rule.factors() {
        let axes = |t: usize| projection.tensors[t].factors[f].as_ref().map(|factor| &factor.axes);
        let (own, size) = match (axes(0), axes(1)) {
            (Some(a), Some(b)) if a != b => return,
            (Some(a), Some(_)) if rule.kinds[f] == FactorKind::Reduction => {
                reduced.extend_from_slice(a);
                continue;
            }
            (Some(a), Some(_)) => (a, lhs_size.max(rhs_size)),
            (Some(a), None) => (a, lhs_size),
            (None, Some(b)) => (b, rhs_size),
            (None, None) => continue,
        };
        if axes(0).is_none() || axes(1).is_none() {
            if own.iter().any(|a| seen.iter().any(|s| s.overlaps(*a))) {
                return;
            }
            seen.extend_from_slice(own);
        }
        let Some(given) = axes(2) else { return };
        if given != own {
            if own.is_empty() || conflict.is_some() || result_size > size {
                return;
            }
            conflict = Some((f, own.clone()));
        }
    }
    let Some((f, own)) = conflict else { return };
    let Some(factor) = &mut projection.tensors[2].factors[f] else { return };
    if factor.axes.is_empty() || factor.axes != reduced {
        return;
    }
    factor.axes = own;
    let new = projection.tensors[2].sharding(rule, &rule.tensors[2], mesh);
    let new = engine.shardings.intern(new);
    reshard_result(engine, program, node, result, new, mesh);
}

/// Reshards the operands of a call to the argument shardings of its function.
fn settle_call(engine: &mut Engine, program: &mut Program, node: Node) {
    use dialect::ops::func;
    let Some(op) = engine.graph.op(node) else { return };
    let function = func::callee(program.view(op)).and_then(|name| engine.function_named(program, name));
    let Some(function) = function else { return };
    let targets = argument_shardings(engine, program, function);
    let uses: Vec<Use> = engine.graph.operand_uses(node).collect();
    for (i, u) in uses.into_iter().enumerate() {
        let own = engine.graph.sharding(engine.graph.value_of_use(u));
        let target = match &targets {
            Some(list) => list.get(i).copied().unwrap_or(ShardingId::NONE),
            None => engine.fully_closed_like(own),
        };
        let place = engine.graph.after(engine.graph.value_of_use(u));
        let wanted = engine.shardings.get(target).cloned();
        carry_unreduced(engine, program, u, wanted.as_ref(), place);
        let value = engine.graph.value_of_use(u);
        let own = engine.graph.sharding(value);
        if engine.equivalent(own, target) {
            continue;
        }
        let target = if target.is_some() { target } else { engine.fully_closed_like(own) };
        let place = engine.graph.after(value);
        if let Some(reshard) = engine.new_reshard(program, value, target, place) {
            let result = engine.graph.result(reshard, 0);
            engine.graph.set_use(u, result);
        }
    }
}

/// Inserts an all-reduce before users that don't take an unreduced value. Replaces a reshard to an unreduced sharding
/// by the ops that produce one.
fn settle_unreduced(engine: &mut Engine, program: &mut Program, node: Node) {
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
fn carry_unreduced(engine: &mut Engine, program: &mut Program, u: Use, target: Option<&Sharding>, place: Place) {
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
