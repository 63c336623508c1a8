//! Checks of programs over several meshes: the topology of a function, the tensors on its meshes, and the places of
//! fragments and transfers. Source: the documentation of Shardy's mpmd dialect.

use rustc_hash::FxHashSet;

use super::Verifier;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{AttrData, MeshTensor, Op, OpRef, TypeData};
use crate::ops::{func, mpmd, sdy};
use crate::sharding::MAX_DEVICES;
use crate::text::nearest;

impl<'a> Verifier<'a> {
    /// Checks an op of the dialect, or a function with a topology; `owner` is the enclosing op.
    pub(super) fn several_meshes(&mut self, op: OpRef<'a>, owner: Option<OpRef<'a>>) {
        if func::is_function(op) {
            return self.topology(op);
        }
        if !op.name().starts_with("mpmd.") {
            return;
        }
        let directly = owner.is_some_and(|owner| func::is_function(owner) || owner.name() == "mpmd.for");
        let anywhere =
            ["mpmd.return", "mpmd.named_computation", "mpmd.named_tensor", "mpmd.broadcast", "mpmd.reduce", "mpmd.for"];
        if !directly && !anywhere.contains(&op.name()) {
            let message = format!("'{}' is inside a region of another op", op.name());
            self.error(codes::MISPLACED_OP, op, message, "it belongs directly in a function");
        }
        match (mpmd::kind(op), owner) {
            (Some(mpmd::Kind::FragmentCall), _) => self.fragment_call(op),
            (Some(mpmd::Kind::Fragment), Some(owner)) => self.fragment_shardings(op, owner),
            _ => {}
        }
    }

    /// Checks that a fragment's shardings of its operands and results fit its mesh.
    fn fragment_shardings(&mut self, op: OpRef<'a>, owner: OpRef<'a>) {
        let Some(topology) = mpmd::Topology::of(self.program, owner.op) else { return };
        let (operands, results): (Vec<&TypeData>, Vec<&TypeData>) =
            (op.operand_types().collect(), op.result_types().collect());
        for (name, types) in [(sdy::IN_SHARDINGS, operands), (sdy::OUT_SHARDINGS, results)] {
            let Some(AttrData::ShardingPerValue(list)) = op.attr(name) else { continue };
            if list.len() != types.len() {
                let message = format!("{name} has {} shardings for {} values", list.len(), types.len());
                self.error(codes::SHARDING_COUNT, op, message, "write one sharding for each value");
                continue;
            }
            for (sharding, ty) in list.iter().zip(types) {
                let Some(tensor) = ty.mesh_tensor() else { continue };
                let tensor = MeshTensor { sharding: Some(sharding.clone()), ..tensor.clone() };
                if let Some((message, note)) = self.mesh_tensor(&topology, &tensor) {
                    self.error(codes::MESH_TENSOR, op, format!("{name}: {message}"), &note);
                }
            }
        }
    }

    /// Checks that the meshes have different devices, and that every tensor on a mesh fits it.
    fn topology(&mut self, function: OpRef<'a>) {
        let program = self.program;
        let Some(topology) = mpmd::Topology::of(program, function.op) else { return };
        let mut names = FxHashSet::default();
        for (name, mesh) in &topology.meshes {
            let text = program.name_text(*name);
            if !names.insert(*name) {
                let message = format!("the topology has two meshes \"{text}\"");
                self.error(codes::MESH_TOPOLOGY, function, message, "give one of them another name");
            }
            let ids = mesh.device_ids.as_deref().unwrap_or_default();
            let n = mesh.devices();
            let sizes = mesh.axes.iter().all(|axis| axis.1 >= 1);
            if n > MAX_DEVICES {
                let message = format!("mesh \"{text}\" has {n} devices; at most {MAX_DEVICES} are supported");
                self.error(codes::MESH_TOPOLOGY, function, message, "give its axes smaller sizes");
                return;
            }
            if !sizes || ids.len() as i64 != n || ids.iter().any(|id| !(0..MAX_DEVICES).contains(id)) {
                let message =
                    format!("the axes of mesh \"{text}\" have {n} devices, but its device_ids have {}", ids.len());
                let note = format!("name each of its devices once; there are at most {MAX_DEVICES}");
                self.error(codes::MESH_TOPOLOGY, function, message, &note);
                continue;
            }
            let mut own = FxHashSet::default();
            if let Some(id) = ids.iter().find(|id| !own.insert(**id)) {
                let message = format!("mesh \"{text}\" has device {id} twice");
                self.error(codes::MESH_TOPOLOGY, function, message, "name each of its devices once");
            }
        }
        let Some(block) = func::block(program, function.op) else { return };
        let mut seen = FxHashSet::default();
        for value in program.values_under(block) {
            let ty = program.value_type(value);
            if let TypeData::MeshTensor(tensor) = program.type_data(ty)
                && seen.insert(ty)
                && let Some((message, note)) = self.mesh_tensor(&topology, tensor)
            {
                let d = Diagnostic::error(codes::MESH_TENSOR, program.value_span(value), message);
                self.push(if note.is_empty() { d } else { d.note(note) });
            }
        }
    }

    /// Returns the problem of a tensor on a mesh, and how to fix it.
    fn mesh_tensor(&self, topology: &mpmd::Topology, tensor: &MeshTensor) -> Option<(String, String)> {
        let program = self.program;
        let name = program.name_text(tensor.mesh);
        if let Some(kind) = tensor.memory_kind
            && !mpmd::is_memory_kind(program.name_text(kind))
        {
            let message = format!("unknown memory kind \"{}\"", program.name_text(kind));
            return Some((message, "write \"device\" or \"pinned_host\"".to_owned()));
        }
        let Some(mesh) = topology.mesh(tensor.mesh) else {
            let known: Vec<&str> = topology.meshes.iter().map(|m| program.name_text(m.0)).collect();
            let note = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("the topology has {}", known.join(", ")),
            };
            return Some((format!("the topology has no mesh \"{name}\""), note));
        };
        let sharding = tensor.sharding.as_ref()?;
        let (dims, rank) = (sharding.dims.len(), tensor.tensor.rank());
        if dims != rank {
            return Some((
                format!("the sharding has {dims} dimensions, but the tensor has rank {rank}"),
                String::new(),
            ));
        }
        let axes = sharding.dims.iter().flat_map(|d| &d.axes).chain(&sharding.replicated).chain(&sharding.unreduced);
        for axis in axes {
            if mesh.axis_part(*axis).is_none() {
                let message = format!("mesh \"{name}\" has no axis \"{}\"", program.name_text(axis.name));
                return Some((message, format!("its axes are {}", program.mesh_text(mesh))));
            }
        }
        let sizes = sharding.dims.iter().map(|d| crate::sharding::axes_size(&d.axes, mesh));
        let uneven = sizes.zip(&tensor.tensor.shape).enumerate().find(|(_, (by, size))| **size % by.max(&1) != 0);
        let (dim, (by, size)) = uneven?;
        let message = format!("dimension {dim} of size {size} is not divisible by the {by} devices it is sharded on");
        Some((message, "tensors on a mesh must be sharded evenly".to_owned()))
    }

    /// Checks that the function that a fragment's call names takes and returns the shards of one device.
    fn fragment_call(&mut self, op: OpRef<'a>) {
        let program = self.program;
        let Some(name) = func::callee(op) else { return };
        let Some(&function) = self.functions.get(name) else {
            return self.error(codes::UNKNOWN_FUNCTION, op, format!("function @{name} is undefined"), "");
        };
        let main: Option<Op> = func::function(program, "main");
        let Some(topology) = main.and_then(|main| mpmd::Topology::of(program, main)) else { return };
        let signature = func::signature(program, function);
        let locals = |types: &mut dyn Iterator<Item = &'a TypeData>| -> Option<Vec<String>> {
            let local = |ty: &TypeData| topology.local_type(ty.mesh_tensor()?).map(TypeData::from);
            types.map(|ty| local(ty).map(|ty| program.type_data_text(&ty))).collect()
        };
        for (what, wanted, found) in [
            ("takes", locals(&mut op.operand_types()), signature.inputs),
            ("returns", locals(&mut op.result_types()), signature.results),
        ] {
            let Some(wanted) = wanted else { continue };
            let found: Vec<String> = found.iter().map(|&ty| program.type_text(ty)).collect();
            if wanted != found {
                let (wanted, found) = (wanted.join(", "), found.join(", "));
                let message = format!("@{name} {what} ({found}), but the shards of a device are ({wanted})");
                let d = Diagnostic::error(codes::CALL_TYPES, op.span(), message);
                self.push(d.also(program.op(function).span, format!("@{name} is defined here")));
            }
        }
    }
}
