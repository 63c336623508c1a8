//! The origins of axes: for every axis that propagation put on a value, the value it was taken from and the op that
//! carried it. Following these links leads to an annotation.

use dialect::ir::{Attr, AttrData, Op, Program, Value, ValueSource};
use dialect::ops::{func, sdy};
use dialect::sharding::{AxisPart, AxisRef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::engine::Engine;
use super::sharding::{Sharding, ShardingId};
use crate::propagate::graph::mesh::Meshes;
use crate::propagate::graph::{Graph, Node, NodeKind, Slot, Val};

/// The records of a propagation: for each slot, an axis, the slot it was taken from, and the node that carried it.
#[derive(Default)]
pub struct Origins {
    steps: FxHashMap<Slot, SmallVec<[Carried; 2]>>,
}

#[derive(Clone, Copy)]
struct Carried {
    axis: AxisPart,
    from: Slot,
    by: Option<Op>,
}

/// The annotation at which an axis starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// The annotation of a value: an argument, an op's own sharding, a constraint.
    Value(Value),
    /// The annotation of a result of the main function.
    FunctionResult(usize),
}

/// The origin of one axis of one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The annotation it comes from.
    pub start: Start,
    /// The ops that carried it, beginning at the annotation; ops with regions carry it in and out.
    pub path: Vec<Op>,
}

/// The origins of a propagated program.
#[derive(Default)]
pub struct OriginTable {
    origins: Origins,
    meshes: Meshes,
    /// Slot and mesh of each value that has a sharding.
    values: FxHashMap<Value, (Slot, u32)>,
    /// The annotation of each slot's first value.
    starts: FxHashMap<Slot, Start>,
    /// The axes of each slot.
    axes: FxHashMap<Slot, Vec<AxisPart>>,
}

impl OriginTable {
    /// Returns the origin of `axis` of `value`; `None` when the value has no sharding or no such axis.
    pub fn origin_of(&self, value: Value, axis: AxisRef) -> Option<Origin> {
        let &(mut slot, mesh) = self.values.get(&value)?;
        let axis = self.meshes.get(mesh).axis(axis)?;
        let mut path = Vec::new();
        let mut seen = vec![slot];
        while let Some(step) = self.origins.step(slot, axis) {
            if seen.contains(&step.from) {
                break;
            }
            path.extend(step.by);
            slot = step.from;
            seen.push(slot);
        }
        path.reverse();
        Some(Origin { start: *self.starts.get(&slot)?, path })
    }
}

impl OriginTable {
    /// Writes the origins into the program as Shardy does: for every axis `"self"`, `"input: 1"`, `"output: 0"`,
    /// `"constraint_2"` or, for an annotated op, `"op_7"`, constraints and ops numbered in the order of the text.
    pub fn write(&self, program: &mut Program) {
        let names = self.names(program);
        let mut functions = Vec::new();
        for op in program.ops_under(program.body()) {
            if let Some(block) = func::block(program, op).filter(|_| func::is_function(program.view(op))) {
                functions.push((op, block));
            }
            let results: Vec<Value> = program.results(op).collect();
            let dicts: Vec<Option<Attr>> = results.iter().map(|&v| self.dict(program, &names, v)).collect();
            if dicts.iter().any(Option::is_some) {
                let empty = program.intern_attr(AttrData::Dict(Vec::new()));
                let list = dicts.into_iter().map(|d| d.unwrap_or(empty)).collect();
                let attr = program.intern_attr(AttrData::Array(list));
                program.set_attr(op, sdy::ORIGINS, attr);
            }
        }
        for (function, block) in functions {
            let arguments = program.block_args(block).to_vec();
            let dicts: Vec<_> = arguments.iter().map(|&v| self.dict(program, &names, v)).enumerate().collect();
            let dicts: Vec<_> = dicts.into_iter().filter(|d| d.1.is_some()).collect();
            func::set_arg_attrs(program, function, sdy::ORIGINS, &dicts);
        }
    }

    /// Returns the name of each annotation.
    fn names(&self, program: &Program) -> FxHashMap<Start, String> {
        let mut names = FxHashMap::default();
        for (_, block) in program.functions() {
            for (i, &arg) in program.block_args(block).iter().enumerate() {
                names.insert(Start::Value(arg), format!("input: {i}"));
            }
        }
        let (mut constraints, mut others) = (0, 0);
        for op in program.ops_under(program.body()) {
            let states = sdy::stated_sharding(program.view(op)).is_some();
            let (word, count) = if states { ("constraint", &mut constraints) } else { ("op", &mut others) };
            for result in program.results(op) {
                names.insert(Start::Value(result), format!("{word}_{count}"));
            }
            *count += 1;
        }
        names
    }

    fn dict(&self, program: &mut Program, names: &FxHashMap<Start, String>, value: Value) -> Option<Attr> {
        let &(slot, mesh) = self.values.get(&value)?;
        let mut entries = Vec::new();
        for &axis in self.axes.get(&slot)? {
            let axis_ref = self.meshes.get(mesh).axis_ref(axis);
            let origin = self.origin_of(value, axis_ref)?;
            let name = match origin.start {
                start if self.starts.get(&slot) == Some(&start) => "self".to_owned(),
                Start::FunctionResult(i) => format!("output: {i}"),
                start => names.get(&start).cloned().unwrap_or_default(),
            };
            entries.push((key(program, axis_ref), name));
        }
        entries.sort();
        let entries = entries.into_iter().map(|(key, name)| (program.name(&key), program.attr_str(&name))).collect();
        Some(program.intern_attr(AttrData::Dict(entries)))
    }
}

/// Returns the key of an axis in a list of origins.
fn key(program: &Program, axis: AxisRef) -> String {
    let name = program.name_text(axis.name);
    axis.sub.map_or_else(|| name.to_owned(), |sub| format!("{name}:({}){}", sub.pre, sub.size))
}

/// Returns the origin of `axis` of `value` as [`OriginTable::write`] wrote it, in a program after further passes:
/// annotations of arguments and results, and the value's own. Numbers of ops and constraints have no meaning there.
pub fn written_origin(program: &Program, value: Value, axis: AxisRef) -> Option<Start> {
    let dict = match program.value_source(value) {
        ValueSource::Result(op, i) => match program.view(op).attr(sdy::ORIGINS)? {
            AttrData::Array(list) => *list.get(i as usize)?,
            _ => return None,
        },
        ValueSource::Arg(block, i) => {
            let (function, _) = program.functions().into_iter().find(|f| f.1 == block)?;
            func::arg_attr(program, function, i as usize, sdy::ORIGINS)?
        }
    };
    let AttrData::Dict(entries) = program.attr_data(dict) else { return None };
    let wanted = key(program, axis);
    let &(_, name) = entries.iter().find(|e| program.name_text(e.0) == wanted)?;
    let name = program.attr_data(name).as_str()?;
    let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
    match (number("input: "), number("output: ")) {
        (Some(i), _) => {
            let main = func::block(program, func::function(program, "main")?)?;
            program.block_args(main).get(i).map(|&argument| Start::Value(argument))
        }
        (_, Some(i)) => Some(Start::FunctionResult(i)),
        _ => (name == "self").then_some(Start::Value(value)),
    }
}

impl Origins {
    /// Returns the step that brought `axis` to `slot`; a sub-axis may have come as part of a larger one.
    fn step(&self, slot: Slot, axis: AxisPart) -> Option<&Carried> {
        let steps = self.steps.get(&slot)?;
        steps.iter().find(|s| s.axis == axis).or_else(|| steps.iter().find(|s| s.axis.overlaps(axis)))
    }
}

impl Engine {
    /// Records the axes that update `t` of a step by `node` added: `slots` and `before` are those of all its tensors.
    pub fn record_origins(&mut self, node: Node, slots: &[Slot], before: &[ShardingId], t: usize, new: ShardingId) {
        let Some(new) = self.shardings.get(new) else { return };
        let Some(mut origins) = self.origins.take() else { return };
        let axes_of = |id: ShardingId| {
            let dims = self.shardings.get(id).map(|s| &s.dims[..]).unwrap_or_default();
            dims.iter().flat_map(|d| &d.axes)
        };
        for axis in new.dims.iter().flat_map(|d| &d.axes) {
            if axes_of(before[t]).any(|a| a == axis) {
                continue;
            }
            let has = |&i: &usize| slots[i] != slots[t] && axes_of(before[i]).any(|a| a.overlaps(*axis));
            // Several tensors may have the axis; it comes from one that has it along the same factor.
            let along = |&i: &usize| self.shares_factor(node, (i, before[i]), (t, new), *axis);
            let found = (0..before.len()).filter(has).find(along).or_else(|| (0..before.len()).find(has));
            if let Some(i) = found {
                let steps = origins.steps.entry(slots[t]).or_default();
                if steps.iter().all(|s| s.axis != *axis) {
                    steps.push(Carried { axis: *axis, from: slots[i], by: carrier(&self.graph, node) });
                }
            }
        }
        self.origins = Some(origins);
    }

    /// Returns whether `axis` shards dimensions of two tensors of `node` that map to one factor.
    fn shares_factor(&self, node: Node, one: (usize, ShardingId), other: (usize, &Sharding), axis: AxisPart) -> bool {
        let rule = (node != Node::NONE).then(|| self.graph.node(node).rule).flatten().map(|id| &self.rules[id]);
        let (Some(rule), Some(sharding)) = (rule, self.shardings.get(one.1)) else { return false };
        let factors = |t: usize, s: &Sharding| -> SmallVec<[u32; 2]> {
            let dims = rule.tensors.get(t).map(|t| &t.dims[..]).unwrap_or_default();
            let sharded = s.dims.iter().zip(dims).filter(|(d, _)| d.axes.iter().any(|a| a.overlaps(axis)));
            sharded.flat_map(|(_, factors)| factors.iter().copied()).collect()
        };
        let mine = factors(one.0, sharding);
        factors(other.0, other.1).iter().any(|f| mine.contains(f))
    }

    /// Returns the origins of all values of the program.
    pub fn take_origins(&mut self) -> OriginTable {
        let Some(origins) = self.origins.take() else { return OriginTable::default() };
        let mut table = OriginTable { origins, ..OriginTable::default() };
        for (i, &slot) in self.main.iter().flat_map(|m| &m.slots).enumerate() {
            table.starts.insert(slot, Start::FunctionResult(i));
        }
        for i in 0..self.graph.program_values() {
            let (value, val) = (Value::new(i), Val::new(i));
            let slot = self.graph.slot(val);
            if let Some(sharding) = self.shardings.get(self.graph.sharding(val)) {
                table.starts.entry(slot).or_insert(Start::Value(value));
                table.values.insert(value, (slot, sharding.mesh));
                let axes = || sharding.dims.iter().flat_map(|d| d.axes.iter().copied()).collect();
                table.axes.entry(slot).or_insert_with(axes);
            }
        }
        table.meshes = std::mem::take(&mut self.meshes);
        table
    }
}

fn carrier(graph: &Graph, node: Node) -> Option<Op> {
    if !node.is_some() {
        return None;
    }
    match graph.node(node).kind {
        NodeKind::Op(op) => Some(op),
        NodeKind::Edge(edge) => graph.op(graph.edges[edge as usize].op),
    }
}
