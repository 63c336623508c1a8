//! mpmd-assign: splits `@main` into fragments, each on one mesh of its topology, and transfers between them.
//!
//! Named computations go to the mesh that the option `assign` gives their name. Without it, names in order of first
//! occurrence go to the meshes in order, so that the largest sum of modeled seconds on a mesh is as small as possible.
//! Other ops go to the mesh where most bytes of their operands are made, else where they are first read; values
//! computed from constants alone are computed on every mesh that reads them. An argument is on the mesh that reads it
//! first. Calls and loops with a fixed number of iterations are inlined into `@main`, and their fragments record the
//! iteration.

mod emit;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{AttrData, Block, Name, Op, Program, Value};
use dialect::op::Constancy;
use dialect::ops::mpmd::{self, Kind, Topology};
use dialect::ops::{func, sdy};
use dialect::sharding::{MeshRef, TensorSharding};
use rustc_hash::{FxHashMap, FxHashSet};

use super::outline::{self, Alone};
use super::{balance, flat};
use crate::estimate::{Machine, estimate};
use crate::options::Options;
use crate::symbols::led_to;

/// A fragment under construction.
struct FragmentBuilder {
    mesh: Name,
    /// Its ops, in order; they read values of `@main`.
    ops: Vec<Op>,
    origins: Vec<(Name, i64)>,
    turn: Option<i64>,
}

pub(super) fn assign(program: &mut Program, options: &Options, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let (Some(topology), Some(block)) = (Topology::of(program, main), func::block(program, main)) else { return };
    let on_meshes = program.values_under(block).iter().any(|&v| mpmd::mesh_of(program, v).is_some());
    if on_meshes || topology.meshes.is_empty() || dialect::signature::is_stated(program, main) {
        return;
    }
    let turns = flat::flatten(program, block);
    let Some(meshes) = meshes_of_names(program, options, &topology, block, main, diagnostics) else { return };
    let items = items(program, &topology, block, &meshes, &turns);
    emit::emit(program, main, block, &topology, items, diagnostics);
    let kept = led_to(program, &[main]);
    let top = program.block_ops(program.body()).to_vec();
    let stays = |op: &Op| kept.contains(op) || !func::is_function(program.view(*op));
    let top = top.into_iter().filter(stays).collect();
    program.set_block_ops(program.body(), top);
}

/// Returns the name of a named computation or tensor.
fn name_of(program: &Program, op: Op) -> Option<Name> {
    let view = program.view(op);
    match mpmd::kind(view)? {
        Kind::NamedComputation => mpmd::origins(view).first().map(|o| o.0),
        Kind::NamedTensor => program.find_name(view.attr(mpmd::NAME)?.as_str()?),
        _ => None,
    }
}

/// Returns the mesh of every name: by the option, or balanced by modeled seconds.
fn meshes_of_names(
    program: &mut Program,
    options: &Options,
    topology: &Topology,
    block: Block,
    main: Op,
    diagnostics: &mut Diagnostics,
) -> Option<FxHashMap<Name, Name>> {
    let ops = program.block_ops(block).to_vec();
    let given = options.compile.assign.clone().unwrap_or_default();
    if given.is_empty() {
        return balanced(program, options, topology, &ops, diagnostics);
    }
    let mut meshes = FxHashMap::default();
    let span = program.op(main).span;
    for entry in given.split(',').filter(|entry| !entry.is_empty()) {
        let Some((name, mesh)) = entry.split_once('@') else {
            let message = format!("'{entry}' assigns no name to a mesh");
            diagnostics.push(Diagnostic::error(codes::MESH_ASSIGNMENT, span, message).note("write name@mesh"));
            return None;
        };
        let (name, mesh) = (program.name(name), program.name(mesh));
        if topology.mesh(mesh).is_none() {
            let known: Vec<&str> = topology.meshes.iter().map(|m| program.name_text(m.0)).collect();
            let message = format!("the topology has no mesh \"{}\"", program.name_text(mesh));
            let d = Diagnostic::error(codes::MESH_ASSIGNMENT, span, message);
            diagnostics.push(d.note(format!("its meshes are {}", known.join(", "))));
            return None;
        }
        meshes.insert(name, mesh);
    }
    for &op in &ops {
        if let Some(name) = name_of(program, op)
            && !meshes.contains_key(&name)
        {
            let name = program.name_text(name);
            let d = Diagnostic::error(codes::MESH_ASSIGNMENT, program.op(op).span, format!("\"{name}\" is on no mesh"));
            diagnostics.push(d.note(format!("add {name}@mesh to the option assign")));
            return None;
        }
    }
    Some(meshes)
}

/// Assigns names, in order of first occurrence, to consecutive stages, so that the largest sum of seconds on a mesh is
/// as small as possible.
fn balanced(
    program: &mut Program,
    options: &Options,
    topology: &Topology,
    ops: &[Op],
    diagnostics: &mut Diagnostics,
) -> Option<FxHashMap<Name, Name>> {
    let machine = Machine::of_mesh(options.target(diagnostics)?, &Default::default()).ok()?;
    let (mut names, mut seconds): (Vec<Name>, FxHashMap<Name, f64>) = Default::default();
    let mut known: FxHashMap<outline::BlockKey, f64> = FxHashMap::default();
    for &op in ops {
        let Some(name) = name_of(program, op) else { continue };
        let entry = *seconds.entry(name).or_insert_with(|| {
            names.push(name);
            0.0
        });
        let Some(body) = program.region_block(op, 0) else { continue };
        let key = outline::key(program, body);
        let own = match known.get(&key) {
            Some(&own) => own,
            None => {
                let alone = Alone::enter(program, body, &[], &[], None);
                let own = estimate(alone.program, &machine).step_seconds;
                alone.leave();
                known.insert(key, own);
                own
            }
        };
        seconds.insert(name, entry + own);
    }
    let each: Vec<f64> = names.iter().map(|name| seconds[name]).collect();
    let stages = balance::stages(&each, topology.meshes.len());
    Some(names.into_iter().zip(stages.into_iter().map(|stage| topology.meshes[stage].0)).collect())
}

/// Returns the fragments that the ops of a block become part of.
fn items(
    program: &Program,
    topology: &Topology,
    block: Block,
    meshes: &FxHashMap<Name, Name>,
    turns: &FxHashMap<Op, i64>,
) -> Vec<FragmentBuilder> {
    let last = program.terminator(block);
    let ops: Vec<Op> = program.block_ops(block).iter().copied().filter(|&op| Some(op) != last).collect();
    let returned: FxHashSet<Value> = last.iter().flat_map(|&op| program.op(op).operands.to_vec()).collect();
    let mut constants: FxHashSet<Value> = FxHashSet::default();
    let mut fixed: FxHashMap<Op, Name> = FxHashMap::default();
    // The mesh where a value is made, as far as its operands determine it.
    let mut made = stated_arguments(program, topology, block);
    let bytes = |v: Value| program.tensor_type(v).and_then(|t| t.bytes()).unwrap_or(0);
    for &op in &ops {
        let view = program.view(op);
        if is_constant(program, op, &constants, &returned) {
            constants.extend(view.results());
            continue;
        }
        let named = name_of(program, op).and_then(|name| meshes.get(&name).copied());
        let named = named.or_else(|| stated_mesh(program, topology, op));
        let read = outline::reads(program, &[op]);
        let largest = read.iter().filter(|v| made.contains_key(v)).rev().max_by_key(|&&v| bytes(v));
        if let Some(mesh) = named.or_else(|| largest.map(|v| made[v])) {
            fixed.insert(op, mesh);
            made.extend(view.results().map(|v| (v, mesh)));
        }
    }
    // The others are on the mesh that first reads them.
    let mut first_read: FxHashMap<Value, Name> = FxHashMap::default();
    for &op in ops.iter().rev() {
        let view = program.view(op);
        if view.results().any(|v| constants.contains(&v)) {
            continue;
        }
        let readers = view.results().find_map(|v| first_read.get(&v).copied());
        let mesh = *fixed.entry(op).or_insert_with(|| readers.unwrap_or(topology.meshes[0].0));
        first_read.extend(outline::reads(program, &[op]).into_iter().map(|v| (v, mesh)));
    }
    let mut items: Vec<FragmentBuilder> = Vec::new();
    let mut at: FxHashMap<Value, usize> = FxHashMap::default();
    let mut last_other: FxHashMap<Name, usize> = FxHashMap::default();
    for &op in &ops {
        let Some(&mesh) = fixed.get(&op) else { continue };
        let view = program.view(op);
        let named = mpmd::kind(view) == Some(Kind::NamedComputation);
        let after = outline::reads(program, &[op]).iter().filter_map(|v| at.get(v).copied()).max();
        let joined = after
            .filter(|&i| items[i].mesh == mesh)
            .or_else(|| last_other.get(&mesh).copied().filter(|&i| after.is_none_or(|after| after <= i)));
        let place = match joined.filter(|_| !named) {
            Some(i) => i,
            None => {
                let origins = if named { mpmd::origins(view) } else { Vec::new() };
                items.push(FragmentBuilder { mesh, ops: Vec::new(), origins, turn: turns.get(&op).copied() });
                if !named {
                    last_other.insert(mesh, items.len() - 1);
                }
                items.len() - 1
            }
        };
        items[place].ops.push(op);
        at.extend(view.results().map(|v| (v, place)));
    }
    items
}

/// Returns the mesh of the topology that a sharding is over.
fn mesh_of_sharding(topology: &Topology, sharding: &TensorSharding) -> Option<Name> {
    match sharding.mesh {
        MeshRef::Symbol(name) => topology.mesh(name).map(|_| name),
        MeshRef::Inline(_) => None,
    }
}

/// Returns the mesh of the topology stated by an op's own sharding or its results' shardings.
fn stated_mesh(program: &Program, topology: &Topology, op: Op) -> Option<Name> {
    let view = program.view(op);
    let own = sdy::stated_sharding(view).into_iter().chain(sdy::result_shardings(view).into_iter().flatten());
    let of_manual = match view.attr(sdy::OUT_SHARDINGS) {
        Some(AttrData::ShardingPerValue(list)) => &list[..],
        _ => &[],
    };
    own.chain(of_manual).find_map(|sharding| mesh_of_sharding(topology, sharding))
}

/// Returns the arguments of `@main` with a stated mesh.
fn stated_arguments(program: &Program, topology: &Topology, block: Block) -> FxHashMap<Value, Name> {
    let Some(main) = func::function(program, "main") else { return FxHashMap::default() };
    let mesh = |i: usize| mesh_of_sharding(topology, func::arg_sharding(program, main, i)?);
    program.block_args(block).iter().enumerate().filter_map(|(i, &v)| Some((v, mesh(i)?))).collect()
}

/// Returns whether an op is cheap and reads only constants, so that every mesh may compute it.
fn is_constant(program: &Program, op: Op, constants: &FxHashSet<Value>, returned: &FxHashSet<Value>) -> bool {
    let view = program.view(op);
    let of_constants = view.operands().iter().all(|v| constants.contains(v));
    let cheap = view.def().constancy(view) != Constancy::No && program.op(op).regions.is_empty();
    cheap && of_constants && !view.def().side_effect(view) && !view.results().any(|v| returned.contains(&v))
}
