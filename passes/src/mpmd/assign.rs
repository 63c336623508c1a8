//! mpmd-assign: splits `@main` into fragments, each on one mesh of its topology, and transfers between them.
//!
//! Named computations go to the mesh that the option `assign` gives their name. Without it, names in order of first
//! occurrence go to the meshes in order, so that the largest sum of modeled seconds on a mesh is as small as possible.
//! Other ops go to the mesh where most bytes of their operands are made, else where they are first read; values
//! computed from constants alone are computed on every mesh that reads them. An argument is on the mesh that reads it
//! first. Calls and loops with a fixed number of iterations are inlined into `@main`, and their fragments record the
//! iteration.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, Loc, MeshTensor, Name, Op, OpRef, Program, Region, Renaming, Ty, Value};
use dialect::op::{Constancy, Control, OpDef};
use dialect::ops::mpmd::{self, Kind, Topology};
use dialect::ops::{func, sdy};
use dialect::sharding::{MeshRef, TensorSharding};
use rustc_hash::{FxHashMap, FxHashSet};

use super::flat;
use super::outline::{self, Alone};
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

/// The mesh and the sharding of a value.
#[derive(Clone)]
struct Home {
    value: Value,
    tensor: MeshTensor,
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
    emit(program, main, block, &topology, items, diagnostics);
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
    let stages = super::balance::stages(&each, topology.meshes.len());
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

/// Returns a sharding in its form over its mesh; `None` on a mesh of one device, where nothing can be sharded.
fn stated(topology: &Topology, sharding: &TensorSharding) -> Option<TensorSharding> {
    let alone = mesh_of_sharding(topology, sharding).and_then(|mesh| topology.mesh(mesh));
    alone.is_none_or(|mesh| !mesh.axes.is_empty()).then(|| sharding.closed())
}

/// Returns whether an op is cheap and reads only constants, so that every mesh may compute it.
fn is_constant(program: &Program, op: Op, constants: &FxHashSet<Value>, returned: &FxHashSet<Value>) -> bool {
    let view = program.view(op);
    let of_constants = view.operands().iter().all(|v| constants.contains(v));
    let cheap = view.def().constancy(view) != Constancy::No && program.op(op).regions.is_empty();
    cheap && of_constants && !view.def().side_effect(view) && !view.results().any(|v| returned.contains(&v))
}

struct FragmentWriter<'a> {
    program: &'a mut Program,
    topology: &'a Topology,
    homes: FxHashMap<Value, Home>,
    /// Copies of values on other meshes than the one that made them.
    sent: FxHashMap<(Value, Name), Value>,
    ops: Vec<Op>,
}

fn emit(
    program: &mut Program,
    main: Op,
    block: Block,
    topology: &Topology,
    items: Vec<FragmentBuilder>,
    diagnostics: &mut Diagnostics,
) {
    let arguments = program.block_args(block).to_vec();
    let last = program.terminator(block);
    let returned = last.map(|last| program.op(last).operands.to_vec()).unwrap_or_default();
    let tensors = arguments.iter().chain(&returned);
    if let Some(&value) = tensors.clone().find(|&&v| program.tensor_type(v).is_none_or(|t| !t.is_static())) {
        let message = "only tensors of static sizes can be on a mesh";
        return diagnostics.push(Diagnostic::error(codes::MESH_TENSOR, program.value_span(value), message));
    }
    let mut readers: FxHashMap<Value, Name> = FxHashMap::default();
    for item in items.iter().rev() {
        readers.extend(outline::reads(program, &item.ops).into_iter().map(|v| (v, item.mesh)));
    }
    readers.extend(stated_arguments(program, topology, block));
    let new = program.new_block();
    let mut homes = FxHashMap::default();
    for (i, &argument) in arguments.iter().enumerate() {
        let sharding = func::arg_sharding(program, main, i).and_then(|s| stated(topology, s));
        let mesh = readers.get(&argument).copied().unwrap_or(topology.meshes[0].0);
        if let Some(problem) = sharding.as_ref().and_then(|s| misfit(program, topology, mesh, argument, s)) {
            let d = Diagnostic::error(codes::MESH_TENSOR, program.value_span(argument), problem);
            return diagnostics.push(d.note("shard it along axes of its mesh, evenly"));
        }
        let Some(tensor) = program.tensor_type(argument).cloned() else { return };
        let tensor = MeshTensor { mesh, tensor, sharding, memory_kind: None };
        let (loc, span) = (program.value_loc(argument), program.value_span(argument));
        let ty = program.intern_type(tensor.clone());
        let value = program.add_block_arg(new, ty, loc, span);
        homes.insert(argument, Home { value, tensor });
    }
    let mut outside: FxHashSet<Value> = returned.iter().copied().collect();
    items.iter().for_each(|item| outside.extend(outline::reads(program, &item.ops)));
    let mut emit = FragmentWriter { program, topology, homes, sent: FxHashMap::default(), ops: Vec::new() };
    for item in items {
        emit.item(item, &outside);
    }
    let mut results = Vec::new();
    for (i, &value) in returned.iter().enumerate() {
        let wanted = func::result_sharding(emit.program, main, i);
        let mesh = wanted.and_then(|s| mesh_of_sharding(topology, s));
        let wanted = wanted.and_then(|s| stated(topology, s));
        let Some(mut home) = emit.homes.get(&value).cloned() else {
            let d = Diagnostic::error(codes::MESH_TENSOR, emit.program.value_span(value), "a result is on no mesh");
            return diagnostics.push(d.note("make it the result of an op whose results are tensors"));
        };
        if let Some(mesh) = mesh.filter(|&mesh| mesh != home.tensor.mesh)
            && let Some(sent) = emit.on(value, mesh)
        {
            home = Home { value: sent, tensor: MeshTensor { mesh, sharding: None, ..home.tensor } };
        }
        let program = &mut *emit.program;
        let Some(wanted) = wanted.filter(|wanted| home.tensor.sharding.as_ref() != Some(wanted)) else {
            results.push(home.value);
            continue;
        };
        if let Some(problem) = misfit(program, topology, home.tensor.mesh, value, &wanted) {
            let d = Diagnostic::error(codes::MESH_TENSOR, program.value_span(value), problem);
            return diagnostics.push(d.note("shard it along axes of its mesh, evenly"));
        }
        let tensor = MeshTensor { sharding: Some(wanted), ..home.tensor };
        let ty = program.intern_type(tensor);
        let mut b = Builder::new(program, &mut emit.ops, Loc::UNKNOWN);
        let moved = b.op(&mpmd::TRANSFER, &[home.value], &[ty], &[]);
        results.push(program.result(moved, 0));
    }
    let program = &mut *emit.program;
    let loc = last.map_or(Loc::UNKNOWN, |last| program.op(last).loc);
    Builder::new(program, &mut emit.ops, loc).op(&func::RETURN, &results, &[], &[]);
    let ops = std::mem::take(&mut emit.ops);
    outline::replace_body(program, main, new, ops, &results);
}

/// Returns the reason why a sharding doesn't fit the mesh that a value is on.
fn misfit(
    program: &Program,
    topology: &Topology,
    mesh: Name,
    value: Value,
    sharding: &TensorSharding,
) -> Option<String> {
    let own = topology.mesh(mesh)?;
    let shape = &program.tensor_type(value)?.shape;
    let mut axes = sharding.dims.iter().flat_map(|d| &d.axes).chain(&sharding.replicated).chain(&sharding.unreduced);
    if let Some(axis) = axes.find(|axis| own.axis_part(**axis).is_none()) {
        let (axis, mesh) = (program.name_text(axis.name), program.name_text(mesh));
        return Some(format!("it is sharded along \"{axis}\", which mesh \"{mesh}\" doesn't have"));
    }
    let sizes = sharding.dims.iter().map(|d| dialect::sharding::axes_size(&d.axes, own));
    let (dim, (by, size)) = sizes.zip(shape).enumerate().find(|(_, (by, size))| *size % by.max(&1) != 0)?;
    Some(format!("dimension {dim} of size {size} is not divisible by {by} devices"))
}

impl FragmentWriter<'_> {
    /// Returns a value of the old `@main` on a mesh; sends it there if it is on another one.
    fn on(&mut self, value: Value, mesh: Name) -> Option<Value> {
        let home = self.homes.get(&value)?.clone();
        if home.tensor.mesh == mesh {
            return Some(home.value);
        }
        if let Some(&sent) = self.sent.get(&(value, mesh)) {
            return Some(sent);
        }
        let tensor = MeshTensor { mesh, sharding: None, ..home.tensor };
        let ty = self.program.intern_type(tensor);
        let loc = self.program.value_loc(value);
        let moved = Builder::new(self.program, &mut self.ops, loc).op(&mpmd::TRANSFER, &[home.value], &[ty], &[]);
        let sent = self.program.result(moved, 0);
        self.sent.insert((value, mesh), sent);
        Some(sent)
    }

    fn item(&mut self, item: FragmentBuilder, outside: &FxHashSet<Value>) {
        let read = outline::reads(self.program, &item.ops);
        // Values computed from constants alone are computed here.
        let (mut constants, mut inputs) = (Vec::new(), Vec::new());
        for value in read {
            match self.on(value, item.mesh) {
                Some(here) => inputs.push((value, here)),
                None => constants.push(value),
            }
        }
        let types: Vec<Ty> = inputs.iter().map(|input| self.program.value_type(input.0)).collect();
        let loc = item.ops.first().map_or(Loc::UNKNOWN, |&op| self.program.op(op).loc);
        let span: Span = item.ops.first().map(|&op| self.program.op(op).span).unwrap_or_default();
        let defined: Vec<Value> = item.ops.iter().flat_map(|&op| self.program.results(op)).collect();
        let outputs: Vec<Value> = defined.into_iter().filter(|v| outside.contains(v)).collect();
        let mut own = Vec::new();
        let mut b = Builder::new(self.program, &mut own, loc);
        let region: Region = b.region(&types, |b, args| {
            let mut renaming = Renaming::default();
            renaming.values.extend(inputs.iter().map(|input| input.0).zip(args.iter().copied()));
            for &constant in &constants {
                outline::clone_constant(b, constant, &mut renaming);
            }
            for &op in &item.ops {
                inline(b, op, &mut renaming);
            }
            let given: Vec<Value> = outputs.iter().map(|&v| renaming.value(v)).collect();
            b.op(&mpmd::RETURN, &given, &[], &[]);
        });
        let tensors: Vec<MeshTensor> = outputs
            .iter()
            .filter_map(|&v| self.program.tensor_type(v).cloned())
            .map(|tensor| MeshTensor { mesh: item.mesh, tensor, sharding: None, memory_kind: None })
            .collect();
        let types: Vec<Ty> = tensors.iter().map(|t| self.program.intern_type(t.clone())).collect();
        let operands: Vec<Value> = inputs.iter().map(|input| input.1).collect();
        let attrs = self.attributes(&item);
        let mut b = Builder::new(self.program, &mut self.ops, loc);
        let op = b.raw(&mpmd::FRAGMENT, mpmd::FRAGMENT.name(), &operands, &types, &attrs, &[region]);
        self.program.op_mut(op).span = span;
        for ((old, new), tensor) in outputs.into_iter().zip(self.program.results(op)).zip(tensors) {
            self.homes.insert(old, Home { value: new, tensor });
        }
    }

    fn attributes(&mut self, item: &FragmentBuilder) -> Vec<(Name, Attr)> {
        let p = &mut *self.program;
        let origins: Vec<Attr> = item.origins.iter().map(|o| p.intern_attr(AttrData::Origin(o.0, o.1))).collect();
        let mesh = p.name_text(item.mesh).to_owned();
        let mut attrs = vec![
            (p.name(mpmd::MESH_NAME), p.attr_str(&mesh)),
            (p.name(mpmd::ORIGIN), p.intern_attr(AttrData::Array(origins))),
        ];
        if !item.origins.is_empty()
            && let Some(stage) = self.topology.meshes.iter().position(|m| m.0 == item.mesh)
        {
            let stage = p.attr_i64(stage as i64);
            attrs.push((p.name(mpmd::STAGE), stage));
        }
        if let Some(turn) = item.turn {
            let ty = p.intern_type(dialect::ir::TypeData::Scalar(mpmd::INDEX));
            let turn = p.intern_attr(AttrData::Int(turn, ty));
            attrs.push((p.name(mpmd::CALL_COUNTER), turn));
        }
        attrs
    }
}

/// Returns whether an op only states that its operand is on one device.
fn is_on_one_device(op: OpRef<'_>) -> bool {
    let mesh = sdy::stated_sharding(op).and_then(|sharding| sdy::resolve(op.program, &sharding.mesh));
    op.def().control(op) == Some(Control::Identity) && mesh.is_some_and(|mesh| mesh.axes.is_empty())
}

/// Appends the form of an op of `@main` inside a fragment: the ops of a named computation, or the operand of an op that
/// only passes it on.
fn inline(b: &mut Builder<'_>, op: Op, renaming: &mut Renaming) {
    let view = b.program.view(op);
    let results: Vec<Value> = view.results().collect();
    match mpmd::kind(view) {
        Some(Kind::NamedComputation) => {
            let Some(body) = view.block(0) else { return };
            let operands: Vec<Value> = view.operands().iter().map(|&v| renaming.value(v)).collect();
            let args = b.program.block_args(body).to_vec();
            renaming.values.extend(args.into_iter().zip(operands));
            let mut ops = b.program.block_ops(body).to_vec();
            let last = ops.pop();
            ops.into_iter().for_each(|op| inline(b, op, renaming));
            let given = last.map(|last| b.program.op(last).operands.to_vec()).unwrap_or_default();
            let given: Vec<Value> = given.into_iter().map(|v| renaming.value(v)).collect();
            renaming.values.extend(results.into_iter().zip(given));
        }
        kind if matches!(kind, Some(Kind::NamedTensor | Kind::Same)) || is_on_one_device(view) => {
            let operands: Vec<Value> = view.operands().iter().map(|&v| renaming.value(v)).collect();
            renaming.values.extend(results.into_iter().zip(operands));
        }
        _ => {
            let copy = b.program.clone_op(op, renaming);
            b.program.remove_attr(copy, func::SHARDING);
            b.program.remove_attr(copy, mpmd::CALL_COUNTER);
            b.ops.push(copy);
        }
    }
}
