//! Where axes come from: for every axis that propagation put on a value, the value it was taken from and the op that
//! carried it. Following these leads to an annotation.

use dialect::ir::{Op, Value};
use dialect::sharding::AxisRef;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::axis::Axis;
use super::engine::Engine;
use super::graph::{Graph, Node, NodeKind, Slot, Val};
use super::mesh::Meshes;
use super::sharding::ShardingId;

/// What is noted while propagating: for each slot, an axis, where it was taken from, and who carried it.
#[derive(Default)]
pub struct Origins {
    steps: FxHashMap<Slot, SmallVec<[Carried; 2]>>,
}

#[derive(Clone, Copy)]
struct Carried {
    axis: Axis,
    from: Slot,
    by: Option<Op>,
}

/// Where an axis starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// The annotation of a value: an argument, an op's own sharding, a constraint.
    Value(Value),
    /// The annotation of a result of the main function.
    FunctionResult(usize),
}

/// One axis of one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The annotation it comes from.
    pub start: Start,
    /// The ops that carried it, from the annotation on; ops with regions carry it in and out.
    pub path: Vec<Op>,
}

/// The origins of a propagated program.
#[derive(Default)]
pub struct OriginTable {
    origins: Origins,
    meshes: Meshes,
    /// Slot and mesh of each value that has a sharding.
    values: FxHashMap<Value, (Slot, u32)>,
    /// The first value of each slot.
    starts: FxHashMap<Slot, Start>,
}

impl OriginTable {
    /// Where `axis` of `value` comes from; `None` when the value has no sharding or no such axis.
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

impl Origins {
    /// How `axis` came to `slot`; a part of an axis may have come as a larger part.
    fn step(&self, slot: Slot, axis: Axis) -> Option<&Carried> {
        let steps = self.steps.get(&slot)?;
        steps.iter().find(|s| s.axis == axis).or_else(|| steps.iter().find(|s| s.axis.overlaps(axis)))
    }
}

impl Engine {
    /// Notes what update `t` of a step by `node` added: `slots` and `before` are those of all its tensors.
    pub fn record_origins(&mut self, node: Node, slots: &[Slot], before: &[ShardingId], t: usize, new: ShardingId) {
        let Some(origins) = &mut self.origins else { return };
        let Some(new) = self.shardings.get(new) else { return };
        let axes_of = |id: ShardingId| {
            let dims = self.shardings.get(id).map(|s| &s.dims[..]).unwrap_or_default();
            dims.iter().flat_map(|d| &d.axes)
        };
        for axis in new.dims.iter().flat_map(|d| &d.axes) {
            if axes_of(before[t]).any(|a| a == axis) {
                continue;
            }
            let others = (0..before.len()).filter(|&i| slots[i] != slots[t]);
            if let Some(i) = others.into_iter().find(|&i| axes_of(before[i]).any(|a| a.overlaps(*axis))) {
                let steps = origins.steps.entry(slots[t]).or_default();
                if steps.iter().all(|s| s.axis != *axis) {
                    steps.push(Carried { axis: *axis, from: slots[i], by: carrier(&self.graph, node) });
                }
            }
        }
    }

    /// The origins of all values of the program.
    pub fn take_origins(&mut self) -> OriginTable {
        let mut table = OriginTable { origins: self.origins.take().unwrap_or_default(), ..OriginTable::default() };
        for (i, &slot) in self.main.iter().flat_map(|m| &m.slots).enumerate() {
            table.starts.insert(slot, Start::FunctionResult(i));
        }
        for i in 0..self.graph.program_values() {
            let (value, val) = (Value::new(i), Val(i as u32));
            let slot = self.graph.slot(val);
            if let Some(sharding) = self.shardings.get(self.graph.sharding(val)) {
                table.starts.entry(slot).or_insert(Start::Value(value));
                table.values.insert(value, (slot, sharding.mesh));
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
