//! Writes the engine's state back into the program, in the form that Shardy's export passes leave.
//!
//! Edges are removed in favor of their ops, constraints become reshards, sharding groups are dropped, shardings of
//! arguments, results and manual computations are reduced to axes that divide, and every sharding is closed. Source:
//! Shardy, `addExportPipeline`.

pub(crate) mod annotated;
pub mod conflict;
pub mod outline;
pub(crate) mod trivial;
mod unreduced;

use dialect::id::TiVec;
use dialect::ir::{Attr, AttrData, Op, Program, Value, gcd};
use dialect::ops::{func, sdy};
use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, AxisPart, Reshard};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::algorithm::engine::Engine;
use super::algorithm::sharding::{Sharding, ShardingId};
use super::graph::role::Kind;
use super::graph::{Graph, Node, NodeKind, Val};

/// Finalizes the propagated shardings: all closed, edges removed.
pub fn finish(engine: &mut Engine, program: &mut Program) {
    sink_edges(engine, program);
    remove_groups(engine, program);
    constraints_to_reshards(engine, program);
    make_divisible(engine, program);
    whole_axes_of_main(engine, program);
    close(engine);
}

/// Writes shardings, order and operands into the program.
pub fn write(engine: &mut Engine, program: &mut Program) {
    let mut nodes = Vec::new();
    engine.graph.preorder(program, program.body(), &mut |node| nodes.push(node));
    let mut written = FxHashMap::default();
    for node in nodes {
        if let Some(op) = engine.graph.op(node) {
            write_node(engine, program, node, op, &mut written);
        }
    }
    engine.graph.write_back(program);
}

/// Returns the shardings of values that are written in one list: if any has one, the others get replicated ones.
pub fn together(engine: &mut Engine, values: &[Val], open: bool) -> Option<SmallVec<[ShardingId; 2]>> {
    let mesh = values.iter().find_map(|&v| engine.sharding(v))?.mesh;
    let fill = |&value: &Val| match engine.graph.sharding(value) {
        id if id.is_some() => id,
        _ => {
            let whole = if open { Sharding::open } else { Sharding::replicated };
            engine.shardings.intern(whole(mesh, engine.graph.rank(value)))
        }
    };
    Some(values.iter().map(fill).collect())
}

fn all_nodes(graph: &Graph, program: &Program) -> Vec<Node> {
    let mut nodes = Vec::new();
    graph.preorder(program, program.body(), &mut |node| nodes.push(node));
    nodes
}

/// Gives each value that an op passes on an open sharding where propagation found none but found one for another value
/// of the op; users of an edge read its owner again.
fn sink_edges(engine: &mut Engine, program: &Program) {
    for node in all_nodes(&engine.graph, program) {
        if engine.graph.node(node).erased {
            continue;
        }
        if let NodeKind::Edge(edge) = engine.graph.node(node).kind {
            let owner = Val::new(engine.graph.edges[edge as usize].owner.index());
            let result = engine.graph.result(node, 0);
            engine.graph.replace_uses(result, owner, |_, _| true);
            engine.graph.erase(program, node);
            continue;
        }
        let Some(op) = engine.graph.op(node) else {
            continue;
        };
        let results = engine.graph.results(node);
        if !results.clone().any(|r| engine.graph.has_edge(r)) && !engine.manual.contains_key(&node) {
            continue;
        }
        let results: Vec<Val> = results.collect();
        if let Some(ids) = together(engine, &results, true) {
            for (&value, id) in results.iter().zip(ids) {
                let slot = engine.graph.slot(value);
                engine.graph.slots[slot] = id;
            }
        }
        if engine.manual.contains_key(&node) {
            sink_arguments(engine, program, node, op);
        }
    }
}

fn sink_arguments(engine: &mut Engine, program: &Program, node: Node, op: Op) {
    let Some(block) = program.region_block(op, 0) else {
        return;
    };
    let arguments: Vec<Val> = program.block_args(block).iter().map(|a| Val::new(a.index())).collect();
    let inner = together(engine, &arguments, true);
    let outer: Vec<Option<Sharding>> =
        engine.graph.results(node).map(|r| engine.shardings.get(engine.graph.sharding(r)).cloned()).collect();
    let Some(manual) = engine.manual.get_mut(&node) else {
        return;
    };
    for (own, new) in manual.outputs.iter_mut().zip(outer) {
        if let Some(new) = new {
            *own = new;
        }
    }
    for (i, id) in inner.into_iter().flatten().enumerate() {
        if let (Some(own), Some(new)) = (manual.inputs.get(i), engine.shardings.get(id)) {
            manual.inputs[i] = manual.with_manual(own, new);
        }
    }
}

fn remove_groups(engine: &mut Engine, program: &Program) {
    if !engine.graph.has(Kind::Group) {
        return;
    }
    for node in all_nodes(&engine.graph, program) {
        if engine.graph.node(node).role.kind == Kind::Group {
            engine.graph.erase(program, node);
        }
    }
}

fn constraints_to_reshards(engine: &mut Engine, program: &mut Program) {
    if !engine.graph.has(Kind::Constraint) {
        return;
    }
    for node in all_nodes(&engine.graph, program) {
        if engine.graph.node(node).role.kind == Kind::Constraint
            && let Some(op) = engine.graph.op(node)
        {
            program.set_def(op, &sdy::ReshardOp);
            let role = &mut engine.graph.nodes[node].role;
            role.kind = Kind::Reshard;
            role.removable = true;
        }
    }
}

/// Returns the largest part of a sharding that divides `shape`.
fn divisible(sharding: &Sharding, shape: &[i64]) -> Sharding {
    let mut out = sharding.clone();
    for (dim, &size) in out.dims.iter_mut().zip(shape) {
        let shards = size_of(&dim.axes);
        if shards != 0 && size % shards == 0 {
            continue;
        }
        dim.priority = None;
        let mut left = size;
        let mut axes = Axes::new();
        for &axis in &dim.axes {
            let common = gcd(i64::from(axis.size), left);
            if common == 1 {
                break;
            }
            axes.push(AxisPart { size: common as u32, ..axis });
            if common != i64::from(axis.size) {
                break;
            }
            left /= common;
        }
        dim.axes = axes;
    }
    out
}

/// Returns the values that the user's own collectives read. Their shardings don't change, because a collective's axes
/// depend on its operand's sharding.
fn read_by_collectives(program: &Program) -> FxHashSet<Value> {
    let mut values = FxHashSet::default();
    program.walk(program.body(), &mut |op| {
        let view = program.view(op);
        if !matches!(view.def().reshard(view), None | Some(Reshard::Identity)) {
            values.extend(view.operands());
        }
    });
    values
}

fn make_divisible(engine: &mut Engine, program: &Program) {
    let kept = read_by_collectives(program);
    for node in all_nodes(&engine.graph, program) {
        match engine.graph.node(node).role.kind {
            Kind::Function => {
                let block = engine.graph.op(node).and_then(|op| func::block(program, op));
                let arguments = block.map(|b| program.block_args(b)).unwrap_or_default();
                let free = arguments.iter().filter(|a| !kept.contains(a));
                free.for_each(|a| make_value_divisible(engine, program, Val::new(a.index())));
            }
            Kind::Call => {
                let free = engine.graph.results(node).filter(|&r| !kept.contains(&engine.graph.program_value(r)));
                free.collect::<Vec<_>>().into_iter().for_each(|r| make_value_divisible(engine, program, r));
            }
            _ => {}
        }
    }
    let results = engine.main.iter().chain(&engine.functions).flat_map(|function| {
        let values = engine.graph.operands(function.terminator).map(|v| engine.graph.program_value(v));
        values.zip(function.slots.iter().copied()).collect::<Vec<_>>()
    });
    for (value, slot) in results.collect::<Vec<_>>() {
        let id = engine.graph.slots[slot];
        if let (Some(tensor), Some(sharding)) = (program.tensor_type(value), engine.shardings.get(id)) {
            let new = divisible(sharding, &tensor.shape);
            engine.graph.slots[slot] = engine.shardings.intern(new);
        }
    }
    let nodes: Vec<Node> = engine.manual.keys().copied().collect();
    for node in nodes {
        let Some(op) = engine.graph.op(node) else {
            continue;
        };
        let Some(mut manual) = engine.manual.remove(&node) else {
            continue;
        };
        let arguments = program.region_block(op, 0).map(|b| program.block_args(b)).unwrap_or_default();
        for (i, &arg) in arguments.iter().enumerate() {
            if let (Some(tensor), Some(outer)) = (program.tensor_type(arg), manual.inputs.get(i))
                && !kept.contains(&arg)
            {
                let inner = divisible(&manual.without_manual(outer), &tensor.shape);
                manual.inputs[i] = manual.with_manual(outer, &inner);
                let slot = engine.graph.slot(Val::new(arg.index()));
                engine.graph.slots[slot] = engine.shardings.intern(inner);
            }
        }
        for (i, result) in program.results(op).enumerate() {
            if let (Some(tensor), Some(own)) = (program.tensor_type(result), manual.outputs.get(i))
                && !kept.contains(&result)
            {
                manual.outputs[i] = divisible(own, &tensor.shape);
                let id = engine.shardings.intern(manual.outputs[i].clone());
                let slot = engine.graph.slot(Val::new(result.index()));
                engine.graph.slots[slot] = id;
            }
        }
        engine.manual.insert(node, manual);
    }
}

fn make_value_divisible(engine: &mut Engine, program: &Program, value: Val) {
    let tensor = program.tensor_type(engine.graph.program_value(value));
    if let (Some(tensor), Some(sharding)) = (tensor, engine.sharding(value)) {
        let new = divisible(sharding, &tensor.shape);
        let slot = engine.graph.slot(value);
        engine.graph.slots[slot] = engine.shardings.intern(new);
    }
}

/// Cuts shardings that propagation put on arguments and results of the main function before the first sub-axis.
fn whole_axes_of_main(engine: &mut Engine, program: &Program) {
    let Some(main) = &engine.main else { return };
    let mut slots = main.slots.clone();
    if let Some(block) = program.region_block(main.function, 0) {
        slots.extend(program.block_args(block).iter().map(|a| engine.graph.slot(Val::new(a.index()))));
    }
    for slot in slots {
        let Some(sharding) = engine.shardings.get(engine.graph.slots[slot]) else {
            continue;
        };
        let mesh = engine.meshes.get(sharding.mesh);
        let mut new = sharding.clone();
        for dim in new.dims.iter_mut().filter(|d| d.open) {
            let whole = dim.axes.iter().take_while(|&&a| mesh.axis_ref(a).sub.is_none()).count();
            dim.axes.truncate(whole);
        }
        engine.graph.slots[slot] = engine.shardings.intern(new);
    }
}

/// Returns the sharding with every dimension closed. Replicated axes are then implied and dropped.
fn closed_for_good(sharding: &Sharding) -> Sharding {
    let mut closed = sharding.clone();
    closed.dims.iter_mut().for_each(|d| d.open = false);
    closed.replicated.clear();
    closed
}

fn close(engine: &mut Engine) {
    let mut closed: TiVec<ShardingId, ShardingId> = vec![ShardingId::NONE; engine.shardings.count()].into();
    for slot in engine.graph.slots.keys() {
        let id = engine.graph.slots[slot];
        let Some(sharding) = engine.shardings.get(id) else {
            continue;
        };
        if !closed[id].is_some() {
            closed[id] = engine.shardings.intern(closed_for_good(sharding));
        }
        engine.graph.slots[slot] = closed[id];
    }
    for manual in engine.manual.values_mut() {
        for sharding in manual.inputs.iter_mut().chain(&mut manual.outputs) {
            *sharding = closed_for_good(sharding);
        }
    }
}

/// A cache of attributes by their shardings: most ops have the same shardings as others.
type Written = FxHashMap<SmallVec<[ShardingId; 2]>, Attr>;

fn write_node(engine: &mut Engine, program: &mut Program, node: Node, op: Op, written: &mut Written) {
    match engine.graph.node(node).role.kind {
        Kind::Function => return write_function(engine, program, op),
        Kind::Manual => return write_manual(engine, program, node, op),
        Kind::Reshard => {
            let result = engine.graph.result(node, 0);
            let Some(sharding) = engine.sharding(result).map(|s| engine.meshes.write(s)) else {
                return;
            };
            let holder = if program.attr(op, sdy::OUT_SHARDING).is_some() { sdy::OUT_SHARDING } else { sdy::SHARDING };
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            return program.set_attr(op, holder, attr);
        }
        _ => {}
    }
    let results: SmallVec<[Val; 2]> = engine.graph.results(node).collect();
    let Some(ids) = together(engine, &results, false) else {
        return;
    };
    let attr = *written.entry(ids).or_insert_with_key(|ids| {
        let list = ids.iter().filter_map(|&id| engine.shardings.get(id)).map(|s| engine.meshes.write(s)).collect();
        program.intern_attr(AttrData::ShardingPerValue(list))
    });
    program.set_attr(op, func::SHARDING, attr);
}

fn write_manual(engine: &Engine, program: &mut Program, node: Node, op: Op) {
    let Some(manual) = engine.manual.get(&node) else {
        return;
    };
    for (name, list) in [(sdy::IN_SHARDINGS, &manual.inputs), (sdy::OUT_SHARDINGS, &manual.outputs)] {
        let list = list.iter().map(|s| engine.meshes.write(s)).collect();
        let attr = program.intern_attr(AttrData::ShardingPerValue(list));
        program.set_attr(op, name, attr);
    }
    if let Some(mesh) = manual.inputs.iter().chain(&manual.outputs).map(|s| s.mesh).next() {
        let axes = &engine.meshes.get(mesh).mesh.axes;
        let names = manual.axes.iter().filter_map(|&a| Some(axes.get(a as usize)?.0)).collect();
        let attr = program.intern_attr(AttrData::ManualAxes(names));
        program.set_attr(op, sdy::MANUAL_AXES, attr);
    }
}

fn write_function(engine: &mut Engine, program: &mut Program, op: Op) {
    program.remove_attr(op, sdy::ORIGINAL_NAME);
    let Some(block) = program.region_block(op, 0) else {
        return;
    };
    let arguments: Vec<Val> = program.block_args(block).iter().map(|a| Val::new(a.index())).collect();
    let written = |id: ShardingId, program: &mut Program| {
        let sharding = engine.meshes.write(engine.shardings.get(id)?);
        Some(program.intern_attr(AttrData::Sharding(sharding)))
    };
    let mut args = Vec::new();
    for (i, &arg) in arguments.iter().enumerate() {
        if let Some(attr) = written(engine.graph.sharding(arg), program) {
            args.push((i, Some(attr)));
        }
    }
    let ids = result_shardings(engine, op);
    let mut results = Vec::new();
    for (i, id) in ids.into_iter().enumerate() {
        let attr = written(id, program);
        if attr.is_some() || func::result_sharding(program, op, i).is_some() {
            results.push((i, attr));
        }
    }
    func::set_arg_attrs(program, op, func::SHARDING, &args);
    func::set_result_attrs(program, op, func::SHARDING, &results);
}

fn result_shardings(engine: &Engine, op: Op) -> Vec<ShardingId> {
    let function = engine.main.iter().chain(&engine.functions).find(|f| f.function == op);
    let slots = function.map(|f| &f.slots[..]).unwrap_or_default();
    slots.iter().map(|s| engine.graph.slots[*s]).collect()
}
