//! Checks of meshes, named and inlined.

use rustc_hash::FxHashSet;

use super::Verifier;
use super::place::AttrRange;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::AttrData;
use crate::op::OpDef;
use crate::ops::func;
use crate::ops::mhlo::{NUM_PARTITIONS, NUM_REPLICAS};
use crate::ops::sdy::{MESH, topology_meshes};
use crate::sharding::{MAX_DEVICES, Mesh};

impl<'a> Verifier<'a> {
    /// Checks the module's device count, and every `sdy.mesh` by itself and against the others.
    pub(super) fn meshes(&mut self) {
        let program = self.program;
        let devices = func::num_replicas(program).saturating_mul(func::num_partitions(program));
        let said = [NUM_REPLICAS, NUM_PARTITIONS].iter().any(|a| program.attr(program.module, a).is_some());
        if said && devices > MAX_DEVICES {
            let message = format!("the module runs on {devices} devices; at most {MAX_DEVICES} are supported");
            self.error(
                codes::DEVICE_COUNT,
                program.view(program.module),
                message,
                "lower mhlo.num_replicas or mhlo.num_partitions",
            );
        }
        for (name, mesh) in topology_meshes(program) {
            self.meshes.insert(program.name_text(*name), mesh);
        }
        let mut first: Option<(i64, crate::ir::Op)> = None;
        for op in program.top_level(MESH.name()) {
            let view = program.view(op);
            let Some(mesh) = view.attr("mesh").and_then(AttrData::as_mesh) else { continue };
            if let Some(name) = func::symbol(program, op) {
                self.meshes.entry(name).or_insert(mesh);
            }
            self.mesh(mesh, AttrRange::of_op(view));
            if mesh.axes.is_empty() {
                continue;
            }
            let (devices, other) = *first.get_or_insert((mesh.devices(), op));
            // The meshes of a topology have different devices; so may those of a module that states its device count.
            let apart = !topology_meshes(program).is_empty() || func::declared_partitions(program).is_some();
            if devices != mesh.devices() && !apart {
                let message = format!("this mesh has {} devices, but another mesh has {devices}", mesh.devices());
                let d = Diagnostic::warning(codes::MESH_DEVICE_COUNTS, view.span(), message);
                let d = d.also(program.op(other).span, format!("{devices} devices"));
                self.push(d.note("all meshes of a program must be over the same devices"));
            }
        }
    }

    /// Checks one mesh.
    pub(super) fn mesh(&mut self, mesh: &Mesh, place: AttrRange) {
        let program = self.program;
        let mut fault = |code, span, message: String, note: &str| {
            self.diagnostics.push(Diagnostic::error(code, span, message).note(note));
        };
        let mut seen = FxHashSet::default();
        for &(axis, size) in &mesh.axes {
            let text = format!("\"{}\"", program.name_text(axis));
            if size < 1 {
                let message = format!("axis {text} has size {size}, expected at least 1");
                fault(codes::MESH_AXIS_SIZE, place.find(program, &text), message, "an axis of one device has size 1");
            }
            if !seen.insert(axis) {
                let message = format!("the mesh has axis {text} twice");
                fault(
                    codes::MESH_AXIS_TWICE,
                    place.find_last(program, &text),
                    message,
                    "give each axis a different name",
                );
            }
        }
        let devices = mesh.devices();
        if devices > MAX_DEVICES {
            let message = format!("the mesh has {devices} devices; at most {MAX_DEVICES} are supported");
            let largest = mesh.axes.iter().rev().max_by_key(|a| a.1).map(|a| format!("\"{}\"", program.name_text(a.0)));
            fault(
                codes::DEVICE_COUNT,
                place.find(program, &largest.unwrap_or_default()),
                message,
                "make an axis smaller",
            );
            return;
        }
        let Some(ids) = &mesh.device_ids else { return };
        let span = place.find(program, "device_ids");
        if mesh.axes.is_empty() {
            if ids.len() != 1 || ids[0] < 0 {
                let message =
                    format!("a mesh without axes names one device, found device_ids of {} entries", ids.len());
                fault(codes::MESH_DEVICE_IDS, span, message, "write <[], device_ids=[0]> for a single device");
            }
            return;
        }
        if ids.len() as i64 != devices {
            let message = format!("the mesh has {devices} devices, but {} device ids", ids.len());
            return fault(
                codes::MESH_DEVICE_IDS,
                span,
                message,
                "list every device once, or leave device_ids out for the usual order",
            );
        }
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        // If the module states its device count, a mesh may have only some of its devices.
        let all = func::declared_partitions(program).unwrap_or(devices).max(devices);
        let is_part = sorted.iter().all(|id| (0..all).contains(id)) && sorted.is_sorted_by(|a, b| a < b);
        if !is_part {
            let (message, note) = if all == devices {
                let message = format!("expected the device ids 0 to {} once each", devices - 1);
                (message, "list every device once")
            } else {
                (format!("expected {devices} of the device ids 0 to {}, each once", all - 1), "list different devices")
            };
            fault(codes::MESH_DEVICE_IDS, span, message, note);
        }
    }
}
