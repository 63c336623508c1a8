//! Checks every sharding attribute against its mesh and its value's type.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Verifier;
use super::place::AttrRange;
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::ir::{AttrData, Name, OpRef, TypeData};
use crate::ops::{func, sdy};
use crate::sharding::{AxisRef, Mesh, MeshRef, TensorSharding};
use crate::text::nearest;

impl<'a> Verifier<'a> {
    /// Checks all shardings on an op.
    pub(super) fn shardings(&mut self, op: OpRef<'a>) {
        if is_silent(op) {
            return;
        }
        let place = AttrRange::of_op(op);
        match op.attr(func::SHARDING) {
            Some(AttrData::ShardingPerValue(list)) => {
                let types: Vec<&TypeData> = op.result_types().collect();
                let place = place.after(self.program, func::SHARDING);
                match list.as_slice() {
                    // An op without results may have a sharding that states its device.
                    [only] if types.is_empty() => self.sharding(only, &TypeData::None, place),
                    _ => self.per_value(list, &types, "results", place),
                }
            }
            Some(_) if op.name() != func::MODULE_NAME => {
                self.error(
                    codes::SHARDING_ATTRIBUTE,
                    op,
                    "expected sdy.sharding of an op to list one sharding for each result",
                    "write #sdy.sharding_per_value<[<…>]>",
                );
            }
            _ => {}
        }
        match op.attr("sdy.sharding_rule") {
            Some(AttrData::ShardingRule(rule)) => self.rule(op, rule),
            Some(_) => self.error(
                codes::SHARDING_RULE,
                op,
                "sdy.sharding_rule is not a sharding rule",
                "write #sdy.op_sharding_rule<…>",
            ),
            None => {}
        }
        self.stated_reduction(op);
        if let Some(sharding) = sdy::stated_sharding(op)
            && let Some(ty) = op.result_types().next()
        {
            self.sharding(sharding, ty, place);
        }
        if op.name() == "func.func" {
            self.function_shardings(op);
        }
        if sdy::barrier_direction(op) == Some(sdy::Direction::Both) {
            let span = place.find(self.program, "BOTH");
            let d = Diagnostic::error(
                codes::SHARDING_BARRIER,
                span,
                "this barrier allows both directions and has no effect",
            );
            self.push(d.note("write FORWARD, BACKWARD or NONE, or remove the barrier"));
        }
        self.group(op);
        self.edge(op);
        self.reshard(op);
        self.unreduced(op);
        self.manual_computation(op);
        self.propagation_edges(op);
    }

    /// Checks that the members of a sharding group are all inside one manual computation or all outside.
    fn group(&mut self, op: OpRef<'a>) {
        let Some(id) = sdy::group_id(op) else { return };
        let owner = self.computations.last().copied();
        let (first, other) = *self.groups.entry(id).or_insert((op.op, owner));
        if other != owner {
            let message = format!("sharding group {id} has members inside and outside of a manual computation");
            let d = Diagnostic::error(codes::SHARDING_GROUP, op.span(), message)
                .also(self.program.op(first).span, "another member");
            self.push(d.note("use another group_id in the manual computation"));
        }
    }

    fn function_shardings(&mut self, op: OpRef<'a>) {
        let program = self.program;
        let signature = func::signature(program, op.op);
        let whole = AttrRange::of_op(op);
        let args = op.region_args(0);
        let start = |i: usize| args.get(i).map(|&a| program.value_span(a).start).filter(|&at| at > 0);
        for (i, &ty) in signature.inputs.iter().enumerate() {
            let Some(attr) = func::arg_attr(program, op.op, i, func::SHARDING) else { continue };
            let mut place = start(i).map_or(whole, |at| whole.from(at));
            place = start(i + 1).map_or(place, |at| place.until(at));
            self.function_sharding(op, attr, ty, place, "argument", i);
        }
        let results = args
            .last()
            .map_or(whole, |&a| whole.from(program.value_span(a).end))
            .after(program, "->")
            .shardings(program);
        let mut shown = 0;
        for (i, &ty) in signature.results.iter().enumerate() {
            let Some(attr) = func::result_attr(program, op.op, i, func::SHARDING) else { continue };
            self.function_sharding(op, attr, ty, results.nth(shown), "result", i);
            shown += 1;
        }
    }

    fn function_sharding(
        &mut self,
        op: OpRef<'a>,
        attr: crate::ir::Attr,
        ty: crate::ir::Ty,
        place: AttrRange,
        what: &str,
        i: usize,
    ) {
        match self.program.attr_data(attr) {
            AttrData::Sharding(sharding) => self.sharding(sharding, self.program.type_data(ty), place),
            _ => {
                let message = format!("sdy.sharding of {what} {i} is not a sharding");
                self.error(codes::SHARDING_ATTRIBUTE, op, message, "write sdy.sharding = #sdy.sharding<@mesh, […]>");
            }
        }
    }

    /// Checks one sharding per value.
    pub(super) fn per_value(&mut self, list: &'a [TensorSharding], types: &[&TypeData], what: &str, place: AttrRange) {
        if list.len() != types.len() {
            let message =
                format!("expected {} shardings, one for each of the {what}, found {}", types.len(), list.len());
            let d = Diagnostic::error(codes::SHARDING_COUNT, place.fallback, message);
            return self.push(d.note("write one sharding for each value; [] for a scalar or token"));
        }
        let places = place.shardings(self.program);
        for (i, (sharding, ty)) in list.iter().zip(types).enumerate() {
            self.sharding(sharding, ty, places.nth(i));
        }
    }

    /// Returns the mesh of a sharding; reports an error if it doesn't exist.
    pub(super) fn mesh_of(&mut self, sharding: &'a TensorSharding, place: AttrRange) -> Option<&'a Mesh> {
        match &sharding.mesh {
            MeshRef::Inline(mesh) => {
                self.mesh(mesh, place);
                Some(mesh)
            }
            MeshRef::Symbol(name) => {
                let name = self.program.name_text(*name);
                if let Some(&mesh) = self.meshes.get(name) {
                    return Some(mesh);
                }
                let mut known: Vec<&str> = self.meshes.keys().copied().collect();
                known.sort_unstable();
                let note = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean @{near}?"),
                    None if known.is_empty() => format!("define it: sdy.mesh @{name} = <[\"x\"=2]>"),
                    None => format!("the module has @{}", known.join(", @")),
                };
                let span = place.find(self.program, &format!("@{name}"));
                self.push(
                    Diagnostic::error(codes::UNKNOWN_MESH, span, format!("mesh @{name} is undefined")).note(note),
                );
                None
            }
        }
    }

    /// Checks one sharding of a value of type `ty`.
    pub(super) fn sharding(&mut self, sharding: &'a TensorSharding, ty: &TypeData, place: AttrRange) {
        let Some(mesh) = self.mesh_of(sharding, place) else { return };
        let plain = sharding.rank() == 0 && sharding.replicated.is_empty() && sharding.unreduced.is_empty();
        if mesh.is_maximal() {
            if !plain {
                let d = Diagnostic::error(
                    codes::SHARDING_ON_ONE_DEVICE,
                    place.fallback,
                    "a value on a single device can't be sharded",
                );
                self.push(d.note("write [] and no replicated or unreduced axes"));
            }
            return;
        }
        // A tuple of one element is sharded like that element.
        let ty = match ty {
            TypeData::Tuple(items) if items.len() == 1 => self.program.type_data(items[0]),
            ty => ty,
        };
        let Some(tensor) = ty.tensor() else {
            // The rank of an unranked tensor is unknown, so dimensions aren't counted.
            let unranked = matches!(ty, TypeData::Opaque(text) if text.starts_with("tensor<*"));
            if !plain || unranked {
                let text = self.program.type_data_text(ty);
                let message = format!("{text} has no dimensions, so it can't be sharded");
                self.push(Diagnostic::error(codes::SHARDING_OF_NO_TENSOR, place.fallback, message).note("write []"));
            }
            return;
        };
        if sharding.rank() != tensor.rank() {
            let (rank, text) = (sharding.rank(), self.program.type_data_text(ty));
            let message = format!("the sharding has {rank} dimensions, {text} has {}", tensor.rank());
            let span = place.find(self.program, "[");
            let d = Diagnostic::error(codes::SHARDING_RANK, span, message);
            self.push(d.note("write one {…} for each dimension; {} for one that isn't sharded"));
        }
        for (d, dim) in sharding.dims.iter().enumerate() {
            if dim.priority.is_some() && !dim.open && dim.axes.is_empty() {
                let message = format!("dimension {d} is closed and empty, but has a priority");
                let d = Diagnostic::error(codes::SHARDING_PRIORITY, place.fallback, message);
                self.push(d.note("open it with ?, give it an axis, or remove the priority"));
            }
        }
        self.axes(sharding, mesh, place);
        self.bound_axes(sharding, place);
    }

    /// Checks that axes exist, that none is used twice, that parts are valid, and that lists are in order.
    fn axes(&mut self, sharding: &TensorSharding, mesh: &Mesh, place: AttrRange) {
        let lists = sharding.dims.iter().map(|d| &d.axes).chain([&sharding.replicated, &sharding.unreduced]);
        let mut faults = AxisFaults::default();
        for list in lists {
            faults.list(list, mesh);
        }
        faults.overlaps(mesh);
        for (what, list) in [("replicated", &sharding.replicated), ("unreduced", &sharding.unreduced)] {
            if !in_mesh_order(list, mesh) {
                let span = place.find(self.program, what);
                let d =
                    Diagnostic::error(codes::AXIS_ORDER, span, format!("{what} axes are not in the order of the mesh"));
                self.push(d.note("list them in the order in which the mesh has its axes"));
            }
        }
        self.axis_faults(faults, mesh, place);
    }

    /// Reports faults of axes.
    pub(super) fn axis_faults(&mut self, faults: AxisFaults, mesh: &Mesh, place: AttrRange) {
        for fault in faults.found {
            let text = |axis: AxisRef| axis_text(self.program.name_text(axis.name), axis);
            let quoted = |axis: AxisRef| format!("\"{}\"", self.program.name_text(axis.name));
            let first = |axis: AxisRef| place.find(self.program, &quoted(axis));
            let last = |axis: AxisRef| place.find_last(self.program, &quoted(axis));
            let (code, span, message, note): (codes::Code, Span, String, String) = match fault {
                Fault::Unknown(axis) => {
                    let names: Vec<&str> = mesh.axes.iter().map(|a| self.program.name_text(a.0)).collect();
                    let note = match nearest(self.program.name_text(axis.name), names.iter().copied()) {
                        Some(near) => format!("did you mean \"{near}\"?"),
                        None => format!("the mesh is {}", self.program.mesh_text(mesh)),
                    };
                    (codes::UNKNOWN_AXIS, first(axis), format!("the mesh has no axis {}", quoted(axis)), note)
                }
                Fault::Twice(axis) => (
                    codes::SHARDING_AXIS_TWICE,
                    last(axis),
                    format!("axis {} is used twice", text(axis)),
                    "an axis can shard one dimension, be replicated, or be unreduced".to_owned(),
                ),
                Fault::Overlap(a, b) => (
                    codes::SHARDING_AXES_OVERLAP,
                    last(b),
                    format!("axes {} and {} overlap", text(a), text(b)),
                    "parts of one axis must be disjoint: \"x\":(pre)size covers sizes pre to pre*size".to_owned(),
                ),
                Fault::Mergeable(a, b) => (
                    codes::SHARDING_AXES_MERGE,
                    last(b),
                    format!("{} and {} are adjacent parts of one axis", text(a), text(b)),
                    "write them as one part".to_owned(),
                ),
                Fault::Part(axis, full) => (
                    codes::SUB_AXIS_SIZE,
                    first(axis),
                    format!("part {} doesn't fit axis {} of size {full}", text(axis), quoted(axis)),
                    "in \"x\":(pre)size, pre * size divides the axis's size and size is greater than 1".to_owned(),
                ),
                Fault::Whole(axis) => (
                    codes::SUB_AXIS_SIZE,
                    first(axis),
                    format!("part {} is the whole axis", text(axis)),
                    format!("write {}", quoted(axis)),
                ),
            };
            self.push(Diagnostic::error(code, span, message).note(note));
        }
    }

    /// Checks that no axis is manual around the op.
    fn bound_axes(&mut self, sharding: &TensorSharding, place: AttrRange) {
        if self.manual.is_empty() {
            return;
        }
        let mut told: FxHashSet<Name> = FxHashSet::default();
        for axis in sharding.all_axes() {
            let Some(&(_, owner)) = self.manual.iter().find(|m| m.0 == axis.name) else { continue };
            if told.insert(axis.name) {
                let text = format!("\"{}\"", self.program.name_text(axis.name));
                let span = place.find(self.program, &text);
                let d = Diagnostic::error(codes::AXIS_IS_MANUAL, span, format!("axis {text} is manual here"));
                let d = d.also(self.program.op(owner).span, "manual in this computation");
                self.push(d.note("tensors inside are already shards along the axis: remove it"));
            }
        }
    }
}

/// Returns whether the op has neither attributes nor a kind that concern shardings, like most ops of most programs.
fn is_silent(op: OpRef<'_>) -> bool {
    let data = op.program.op(op.op);
    let concerns = |name: &str| {
        sdy::is_attribute(name)
            || [sdy::SHARDING, sdy::OUT_SHARDING, sdy::IN_SHARDINGS, sdy::OUT_SHARDINGS].contains(&name)
    };
    let dialects = ["sdy.", "mpmd.", "func."];
    data.regions.is_empty()
        && !dialects.iter().any(|dialect| op.name().starts_with(dialect))
        && !data.attrs.iter().any(|a| concerns(op.program.name_text(a.0)))
        && data.def.reshard(op).is_none()
}

/// A fault of an axis.
pub(super) enum Fault {
    Unknown(AxisRef),
    Twice(AxisRef),
    Overlap(AxisRef, AxisRef),
    Mergeable(AxisRef, AxisRef),
    /// An invalid part, with the size of its axis.
    Part(AxisRef, i64),
    Whole(AxisRef),
}

/// Collects the faults in several lists of axes, in which no axis may occur twice.
#[derive(Default)]
pub(super) struct AxisFaults {
    pub(super) found: Vec<Fault>,
    seen: FxHashSet<AxisRef>,
    by_axis: FxHashMap<Name, Vec<AxisRef>>,
    order: Vec<Name>,
}

impl AxisFaults {
    /// Adds one list.
    pub(super) fn list(&mut self, list: &[AxisRef], mesh: &Mesh) {
        let mut previous: Option<AxisRef> = None;
        for &axis in list {
            let Some(full) = mesh.axis_size(axis.name) else {
                self.found.push(Fault::Unknown(axis));
                continue;
            };
            if !self.seen.insert(axis) {
                self.found.push(Fault::Twice(axis));
                continue;
            }
            if let Some(sub) = axis.sub {
                match sub.pre.checked_mul(sub.size) {
                    _ if sub.pre == 1 && sub.size == full => self.found.push(Fault::Whole(axis)),
                    Some(end) if sub.pre >= 1 && sub.size > 1 && full % end == 0 => {}
                    _ => {
                        self.found.push(Fault::Part(axis, full));
                        continue;
                    }
                }
                let joins = |p: AxisRef| p.name == axis.name && p.sub.is_some_and(|p| p.pre * p.size == sub.pre);
                if let Some(previous) = previous.filter(|&p| joins(p)) {
                    self.found.push(Fault::Mergeable(previous, axis));
                }
            }
            previous = Some(axis);
            let same = self.by_axis.entry(axis.name).or_insert_with(|| {
                self.order.push(axis.name);
                Vec::new()
            });
            same.push(axis);
        }
    }

    /// Finds parts of one axis that overlap, over all lists.
    pub(super) fn overlaps(&mut self, mesh: &Mesh) {
        for name in &self.order {
            let parts = &mut self.by_axis.get_mut(name).map(std::mem::take).unwrap_or_default();
            parts.sort_by_key(|p| p.range(mesh));
            for pair in parts.windows(2).filter(|w| w[0].overlaps(w[1], mesh)) {
                self.found.push(Fault::Overlap(pair[0], pair[1]));
            }
        }
    }
}

/// Formats `"x"` or `"x":(1)2`.
fn axis_text(name: &str, axis: AxisRef) -> String {
    match axis.sub {
        Some(sub) => format!("\"{name}\":({}){}", sub.pre, sub.size),
        None => format!("\"{name}\""),
    }
}

/// Returns whether axes are in mesh order, and parts of one axis in order of position.
pub(super) fn in_mesh_order(axes: &[AxisRef], mesh: &Mesh) -> bool {
    axes.is_sorted_by_key(|a| (mesh.axis_index(a.name), a.range(mesh)))
}
