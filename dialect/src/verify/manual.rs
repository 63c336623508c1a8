//! Checks of manual and named computations.

use rustc_hash::FxHashSet;

use super::Verifier;
use super::place::AttrRange;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{AttrData, OpRef, TypeData};
use crate::op::Control;
use crate::ops::sdy::ManualComputation;
use crate::sharding::{Mesh, TensorSharding};

impl<'a> Verifier<'a> {
    /// Checks the shardings and axes of a manual or named computation.
    pub(super) fn manual_computation(&mut self, op: OpRef<'a>) {
        if crate::ops::mpmd::kind(op) == Some(crate::ops::mpmd::Kind::Fragment) {
            // Its shardings are over a mesh of the topology.
            return;
        }
        let place = AttrRange::of_op(op);
        let operands: Vec<&TypeData> = op.operand_types().collect();
        let results: Vec<&TypeData> = op.result_types().collect();
        let mut lists: Vec<(&'a [TensorSharding], &str, AttrRange)> = Vec::new();
        for (name, types, what) in [("in_shardings", &operands, "operands"), ("out_shardings", &results, "results")] {
            if let Some(AttrData::ShardingPerValue(list)) = op.attr(name) {
                let mut place = place.after(self.program, name);
                if name == "in_shardings" {
                    // Find axes in this list, not in the next one.
                    let next = self.program.find_in_source(place.span, "out_shardings");
                    place = if next == place.span { place } else { place.until(next.start) };
                }
                // A manual computation's number of shardings is checked together with its types.
                if list.len() == types.len() || op.def().control(op) != Some(Control::Manual) {
                    self.per_value(list, types, what, place);
                }
                lists.push((list, what, place));
            }
        }
        let Some(manual) = ManualComputation::of(op) else { return };
        self.manual_axes(&manual, place);
        self.one_mesh(op, &lists);
        let Some(mesh) = manual.mesh else { return };
        for ((list, what, place), types) in lists.into_iter().zip([operands, results]) {
            let places = place.shardings(self.program);
            for (i, (sharding, ty)) in list.iter().zip(types).enumerate() {
                self.manual_dims(
                    &manual,
                    mesh,
                    sharding,
                    ty,
                    &format!("{what} {i}", what = &what[..what.len() - 1]),
                    places.nth(i),
                );
            }
        }
    }

    /// Checks that manual axes exist, are listed once, and aren't manual around the op.
    fn manual_axes(&mut self, manual: &ManualComputation<'a>, place: AttrRange) {
        let place = place.after(self.program, "manual_axes");
        let mut seen = FxHashSet::default();
        let stated = manual.in_shardings.iter().chain(manual.out_shardings);
        let meshes: Vec<&Mesh> = stated
            .filter_map(|s| crate::ops::sdy::resolve(self.program, &s.mesh))
            .filter(|m| !m.axes.is_empty())
            .collect();
        for &axis in manual.manual_axes {
            let text = format!("\"{}\"", self.program.name_text(axis));
            let span = place.find(self.program, &text);
            if !seen.insert(axis) {
                let span = place.find_last(self.program, &text);
                self.push(
                    Diagnostic::error(codes::MANUAL_AXIS_TWICE, span, format!("manual axis {text} is listed twice"))
                        .note("list it once"),
                );
            }
            if let Some(mesh) = meshes.first()
                && mesh.axis_size(axis).is_none()
            {
                let note = format!("the mesh is {}", self.program.mesh_text(mesh));
                self.push(
                    Diagnostic::error(codes::UNKNOWN_AXIS, span, format!("the mesh has no axis {text}")).note(note),
                );
            }
            if let Some(&(_, owner)) = self.manual.iter().find(|m| m.0 == axis) {
                let d = Diagnostic::error(codes::AXIS_IS_MANUAL, span, format!("axis {text} is already manual"));
                let d = d.also(self.program.op(owner).span, "manual in this computation");
                self.push(d.note("nested manual computations must be manual on different axes"));
            }
        }
    }

    /// Checks that all shardings are on one mesh, except those on a mesh without axes.
    fn one_mesh(&mut self, op: OpRef<'a>, lists: &[(&'a [TensorSharding], &str, AttrRange)]) {
        let mut first: Option<&Mesh> = None;
        for sharding in lists.iter().flat_map(|l| l.0) {
            let Some(mesh) = crate::ops::sdy::resolve(self.program, &sharding.mesh) else { continue };
            if mesh.axes.is_empty() {
                continue;
            }
            if *first.get_or_insert(mesh) != mesh {
                let message = "in and out shardings are on different meshes";
                return self.error(
                    codes::MANUAL_MESHES,
                    op,
                    message,
                    "use one mesh for all shardings of a manual computation",
                );
            }
        }
    }

    /// Checks that the manual axes come first in every dimension and divide its size.
    fn manual_dims(
        &mut self,
        manual: &ManualComputation<'a>,
        mesh: &Mesh,
        sharding: &TensorSharding,
        ty: &TypeData,
        what: &str,
        place: AttrRange,
    ) {
        for (d, dim) in sharding.dims.iter().enumerate() {
            let free = dim.axes.iter().position(|a| !manual.is_manual(a.name));
            let late = free.and_then(|f| dim.axes[f..].iter().find(|a| manual.is_manual(a.name)));
            if let Some(late) = late {
                let text = format!("\"{}\"", self.program.name_text(late.name));
                let span = place.find(self.program, &text);
                let message = format!("{what}: manual axis {text} follows a free axis in dimension {d}");
                let d = Diagnostic::error(codes::MANUAL_AXES_FIRST, span, message);
                self.push(d.note("put the manual axes first: the body shards them further"));
            }
            let Some(&size) = ty.tensor().and_then(|t| t.shape.get(d)).filter(|&&s| s >= 0) else { continue };
            let shards = crate::sharding::axes_size(&manual.manual_part(&dim.axes), mesh).max(1);
            if size % shards != 0 {
                let message = format!(
                    "{what}: dimension {d} of size {size} is not divisible by the {shards} shards of its manual axes"
                );
                let first = dim.axes.iter().find(|a| manual.is_manual(a.name));
                let text = first.map(|a| format!("\"{}\"", self.program.name_text(a.name))).unwrap_or_default();
                let d = Diagnostic::error(codes::UNEVEN_MANUAL, place.find(self.program, &text), message);
                self.push(
                    d.note("a manual computation can't pad: pad the operand before it, or shard over fewer devices"),
                );
            }
        }
    }

    /// Records the axes that are manual inside `op`.
    pub(super) fn enter_manual(&mut self, op: OpRef<'a>) {
        if let Some(manual) = ManualComputation::of(op) {
            self.computations.push(op.op);
            self.manual.extend(manual.manual_axes.iter().map(|&axis| (axis, op.op)));
        }
    }
}
