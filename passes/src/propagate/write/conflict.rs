//! Inserts the reshards that Shardy's own propagation pipeline inserts where the shardings of an op's tensors disagree:
//! all that a concatenation needs, the one after a dot whose result would be sharded along its reduction's axes, those
//! around calls, and the collectives of unreduced values. All other conflicts are left to the pass that plans
//! communication. Source: Shardy, `insert-explicit-reshards`.

use dialect::ir::Program;
use dialect::op::ExplicitReshard;
use dialect::sharding::{Axes, FactorKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::outline::argument_shardings;
use super::unreduced::{carry_unreduced, combine_what_was_parted, settle_flow, settle_returns, settle_unreduced};
use crate::propagate::algorithm::common_axes::common_axes;
use crate::propagate::algorithm::engine::Engine;
use crate::propagate::algorithm::projection::Projection;
use crate::propagate::algorithm::rule::Rule;
use crate::propagate::algorithm::sharding::{Sharding, ShardingId};
use crate::propagate::graph::role::Kind;
use crate::propagate::graph::{Node, Place, Use, Val};

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

pub(super) fn tensors(engine: &Engine, node: Node) -> SmallVec<[Val; 4]> {
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

pub(super) fn project(engine: &Engine, rule: &Rule, values: &[Val]) -> Projection {
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
