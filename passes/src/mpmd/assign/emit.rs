//! Writes the fragments of a program and the transfers between them.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::build::Builder;
use dialect::ir::{Attr, AttrData, Block, Loc, MeshTensor, Name, Op, OpRef, Program, Region, Renaming, Ty, Value};
use dialect::op::{Control, OpDef};
use dialect::ops::mpmd::{self, Kind, Topology};
use dialect::ops::{func, sdy};
use dialect::sharding::TensorSharding;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{FragmentBuilder, mesh_of_sharding, stated_arguments};
use crate::mpmd::outline;

/// The mesh and the sharding of a value.
#[derive(Clone)]
struct Home {
    value: Value,
    tensor: MeshTensor,
}

/// Returns a sharding in its form over its mesh; `None` on a mesh of one device, where nothing can be sharded.
fn stated(topology: &Topology, sharding: &TensorSharding) -> Option<TensorSharding> {
    let alone = mesh_of_sharding(topology, sharding).and_then(|mesh| topology.mesh(mesh));
    alone.is_none_or(|mesh| !mesh.axes.is_empty()).then(|| sharding.closed())
}

struct FragmentWriter<'a> {
    program: &'a mut Program,
    topology: &'a Topology,
    homes: FxHashMap<Value, Home>,
    /// Copies of values on other meshes than the one that made them.
    sent: FxHashMap<(Value, Name), Value>,
    ops: Vec<Op>,
}

pub(super) fn emit(
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
