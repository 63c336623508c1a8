//! The fragments of a program and their run under a schedule: each mesh runs one fragment at a time, and only the
//! readers of a transferred value wait for the transfer.

use std::collections::VecDeque;

use dialect::ir::{AttrData, Block, Name, Op, OpRef, Program, Value};
use dialect::ops::func;
use dialect::ops::mpmd::{self, Kind, Topology};
use rustc_hash::FxHashMap;

use crate::compile_options::Schedule;
use crate::estimate::{Machine, Simulation};

/// The role of a fragment in a pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Forward,
    Backward,
    /// A fragment outside of microbatches: an optimizer's step, or work before the first microbatch.
    Other,
}

/// A fragment in the model.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) op: Op,
    /// The index of its mesh in the topology.
    pub(super) mesh: usize,
    pub(super) role: Role,
    pub(super) microbatch: i64,
    /// The number of stages of its mesh before its own.
    chunk: usize,
    seconds: f64,
    /// The bytes that it needs in addition to its operands and results.
    extra: f64,
    /// The fragments whose results it reads, and the seconds that those take to arrive.
    after: Vec<(usize, f64)>,
}

/// The fragments and transfers of `@main`, in order.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    pub(super) units: Vec<Unit>,
    /// The transfers of each value, with the unit that computes the value; `None` for arguments.
    pub(super) transfers: Vec<(Op, Option<usize>)>,
    /// For each mesh, itself and the meshes that share devices with it.
    overlapping: Vec<Vec<usize>>,
    /// Bytes of a device's shards of the arguments of each mesh.
    arguments: Vec<f64>,
    /// Values of fragments and transfers.
    values: Vec<LiveValue>,
}

/// A value of a fragment or transfer.
#[derive(Clone, Debug)]
struct LiveValue {
    mesh: usize,
    /// Its bytes on a device.
    bytes: f64,
    /// The unit that produces it.
    producer: Option<usize>,
    /// The units that read it.
    readers: Vec<usize>,
    /// Whether `@main` returns it, which keeps it live to the end.
    is_returned: bool,
}

/// A run of all fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Run {
    /// The units in the order in which they start.
    pub(super) order: Vec<usize>,
    /// The start and end of each unit in seconds.
    pub(super) times: Vec<(f64, f64)>,
    /// Seconds from start to end.
    pub(super) seconds: f64,
    /// The seconds in which each mesh runs fragments.
    pub(super) busy: Vec<f64>,
    /// The most bytes that a device of each mesh holds.
    pub(super) peaks: Vec<f64>,
}

impl Run {
    /// Returns the share of all meshes' time in which they are idle.
    pub(super) fn bubble(&self) -> f64 {
        let all = self.seconds * self.busy.len() as f64;
        if all > 0.0 { 1.0 - self.busy.iter().sum::<f64>() / all } else { 0.0 }
    }
}

impl Graph {
    /// Reads a partitioned program of several meshes; `None` where an op is neither a call of a fragment nor a
    /// transfer.
    pub(super) fn of(program: &Program, block: Block, topology: &Topology, machine: &Machine) -> Option<Self> {
        let meshes = topology.meshes.len();
        let mut reader = Reader {
            program,
            topology,
            machine,
            mesh_index: topology.meshes.iter().enumerate().map(|(i, m)| (m.0, i)).collect(),
            functions: func::functions_by_name(program),
            stages: vec![Vec::new(); meshes],
            origins: FxHashMap::default(),
            graph: Self {
                units: Vec::new(),
                transfers: Vec::new(),
                overlapping: overlaps(topology),
                arguments: vec![0.0; meshes],
                values: Vec::new(),
            },
        };
        for &argument in program.block_args(block) {
            let (mesh, bytes) = reader.mesh_and_bytes(argument)?;
            reader.graph.arguments[mesh] += bytes;
            reader.origins.insert(argument, Origin { unit: None, delay: 0.0, value: None });
        }
        for &op in program.block_ops(block) {
            let view = program.view(op);
            match mpmd::kind(view) {
                Some(Kind::FragmentCall) => reader.fragment(view)?,
                Some(Kind::Transfer) => reader.transfer(view)?,
                _ if view.def().terminator() => reader.returned(view)?,
                _ => return None,
            }
        }
        Some(reader.graph)
    }

    /// Runs the fragments in the order of a schedule.
    pub(super) fn run(&self, schedule: Schedule) -> Run {
        let (n, meshes) = (self.units.len(), self.arguments.len());
        let chunks = 1 + self.units.iter().map(|u| u.chunk).max().unwrap_or(0);
        let mut left = vec![[0usize; 3]; meshes];
        self.units.iter().for_each(|u| left[u.mesh][u.role as usize] += 1);
        let backwards: Vec<bool> = left.iter().map(|l| l[Role::Backward as usize] > 0).collect();
        let mut under_way = vec![0usize; meshes];
        let mut waits: Vec<usize> = self.units.iter().map(|u| u.after.len()).collect();
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n];
        for (i, unit) in self.units.iter().enumerate() {
            unit.after.iter().for_each(|&(by, _)| readers[by].push(i));
        }
        let mut simulation = Simulation::beginning(0.0);
        // The units whose operands are ready, and when they are.
        let mut open: Vec<Vec<(usize, f64)>> = vec![Vec::new(); meshes];
        (0..n).filter(|&i| waits[i] == 0).for_each(|i| open[self.units[i].mesh].push((i, 0.0)));
        // In program order a mesh may only run its next unit.
        let mut next: Vec<VecDeque<usize>> = vec![VecDeque::new(); meshes];
        (0..n).for_each(|i| next[self.units[i].mesh].push_back(i));
        let mut run = Run { times: vec![(0.0, 0.0); n], busy: vec![0.0; meshes], ..Run::default() };
        while run.order.len() < n {
            let mut best: Option<((bool, f64, Rank), usize)> = None;
            for mesh in 0..meshes {
                for &(i, ready) in &open[mesh] {
                    let unit = &self.units[i];
                    let allowed = match (schedule, unit.role) {
                        (Schedule::Program, _) => next[mesh].front() == Some(&i),
                        (Schedule::Gpipe, Role::Backward) => left[mesh][Role::Forward as usize] == 0,
                        (Schedule::OneForwardOneBackward, Role::Forward) if backwards[mesh] => {
                            under_way[mesh] < (meshes - mesh) * chunks
                        }
                        (Schedule::Interleaved, Role::Forward) if backwards[mesh] => {
                            under_way[mesh] <= (meshes - mesh - 1) * 2 + (chunks - 1) * meshes
                        }
                        _ => true,
                    };
                    let start = simulation.start(ready, self.overlapping[mesh].iter().copied());
                    let key = (!allowed, start, rank(unit, i, schedule, meshes));
                    if best.as_ref().is_none_or(|b| key < b.0) {
                        best = Some((key, i));
                    }
                }
            }
            // The units are in an order in which each can run, so one of them always can.
            let Some(((_, start, _), i)) = best else { break };
            let unit = &self.units[i];
            let end = start + unit.seconds;
            simulation.occupy(unit.mesh, end);
            simulation.finish([i], end);
            run.times[i] = (start, end);
            run.busy[unit.mesh] += unit.seconds;
            run.order.push(i);
            open[unit.mesh].retain(|&(j, _)| j != i);
            next[unit.mesh].retain(|&j| j != i);
            left[unit.mesh][unit.role as usize] -= 1;
            match unit.role {
                Role::Forward => under_way[unit.mesh] += 1,
                Role::Backward => under_way[unit.mesh] = under_way[unit.mesh].saturating_sub(1),
                Role::Other => {}
            }
            for &reader in &readers[i] {
                waits[reader] -= 1;
                if waits[reader] == 0 {
                    let reader_unit = &self.units[reader];
                    let operands = reader_unit.after.iter();
                    let arrivals = operands.filter_map(|&(by, delay)| Some(simulation.ready(by)? + delay));
                    open[reader_unit.mesh].push((reader, arrivals.fold(0.0, f64::max)));
                }
            }
        }
        run.seconds = simulation.end();
        let times = &run.times;
        run.order.sort_by(|&a, &b| times[a].0.total_cmp(&times[b].0));
        run.peaks = self.peaks(&run);
        run
    }

    /// Returns the most bytes that a device of each mesh holds: its arguments, results of fragments that later ones
    /// still read, and the extra bytes of the running fragment.
    fn peaks(&self, run: &Run) -> Vec<f64> {
        let mut place = vec![0; self.units.len()];
        run.order.iter().enumerate().for_each(|(at, &i)| place[i] = at);
        // The values that become live, and those that die, at each position in the order.
        let n = run.order.len();
        let mut changes: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n + 1];
        for value in &self.values {
            let first = value.producer.map_or(0, |by| place[by]);
            let last_reader = || value.readers.iter().map(|&r| place[r]).max().unwrap_or(first);
            let last = if value.is_returned { n } else { last_reader() };
            changes[first].push((value.mesh, value.bytes));
            if last < n {
                changes[last + 1].push((value.mesh, -value.bytes));
            }
        }
        let mut held = self.arguments.clone();
        let mut peaks = held.clone();
        for (at, &i) in run.order.iter().enumerate() {
            changes[at].iter().for_each(|&(mesh, bytes)| held[mesh] += bytes);
            let unit = &self.units[i];
            peaks.iter_mut().zip(&held).for_each(|(peak, &bytes)| *peak = peak.max(bytes));
            peaks[unit.mesh] = peaks[unit.mesh].max(held[unit.mesh] + unit.extra);
        }
        peaks
    }
}

/// The source of a value of `@main`.
struct Origin {
    /// The unit that computes it, or the value that is transferred; `None` for arguments.
    unit: Option<usize>,
    /// The seconds that transfers take from there.
    delay: f64,
    /// Its index in [`Graph::values`].
    value: Option<usize>,
}

/// Reads the ops of `@main` into a graph.
struct Reader<'a> {
    program: &'a Program,
    topology: &'a Topology,
    machine: &'a Machine,
    mesh_index: FxHashMap<Name, usize>,
    functions: FxHashMap<&'a str, Op>,
    /// For each mesh, its stages, in the order of their first fragments.
    stages: Vec<Vec<Name>>,
    origins: FxHashMap<Value, Origin>,
    graph: Graph,
}

impl Reader<'_> {
    /// Returns the mesh of a value, and the bytes of a device's shard.
    fn mesh_and_bytes(&self, value: Value) -> Option<(usize, f64)> {
        let tensor = self.program.type_data(self.program.value_type(value)).mesh_tensor()?;
        let local = self.topology.local_type(tensor)?;
        Some((*self.mesh_index.get(&tensor.mesh)?, local.bytes()? as f64))
    }

    /// Adds a value of a fragment or transfer.
    fn define(&mut self, value: Value, unit: Option<usize>, delay: f64) -> Option<()> {
        let (mesh, bytes) = self.mesh_and_bytes(value)?;
        self.origins.insert(value, Origin { unit, delay, value: Some(self.graph.values.len()) });
        let (readers, is_returned) = (Vec::new(), false);
        self.graph.values.push(LiveValue { mesh, bytes, producer: unit, readers, is_returned });
        Some(())
    }

    /// Reads the call of a fragment.
    fn fragment(&mut self, view: OpRef<'_>) -> Option<()> {
        let (program, unit) = (self.program, self.graph.units.len());
        let function = *self.functions.get(func::callee(view)?)?;
        let number = |name: &str| match program.attr(function, name).map(|a| program.attr_data(a)) {
            Some(AttrData::Float(bits, _)) => f64::from_bits(*bits),
            Some(AttrData::Int(v, _)) => *v as f64,
            _ => 0.0,
        };
        let mesh = *self.mesh_index.get(&program.find_name(view.attr(mpmd::MESH_NAME)?.as_str()?)?)?;
        let (origin, turn) = (mpmd::origins(view).first().copied(), view.int(mpmd::CALL_COUNTER));
        let role = match origin.zip(turn) {
            None => Role::Other,
            Some(((_, transposed), _)) if transposed % 2 == 0 => Role::Forward,
            Some(_) => Role::Backward,
        };
        let stages = &mut self.stages[mesh];
        let chunk = origin.map_or(0, |(name, _)| {
            stages.iter().position(|&stage| stage == name).unwrap_or_else(|| {
                stages.push(name);
                stages.len() - 1
            })
        });
        let mut after = Vec::new();
        for v in view.operands() {
            let origin = self.origins.get(v)?;
            after.extend(origin.unit.map(|by| (by, origin.delay)));
            if let Some(value) = origin.value {
                self.graph.values[value].readers.push(unit);
            }
        }
        let own = view.operands().iter().copied().chain(view.results());
        let own: f64 = own.filter_map(|v| Some(self.mesh_and_bytes(v)?.1)).sum();
        let (seconds, extra) = (number(mpmd::SECONDS), (number(mpmd::PEAK_BYTES) - own).max(0.0));
        let (op, microbatch) = (view.op, turn.unwrap_or(0));
        self.graph.units.push(Unit { op, mesh, role, microbatch, chunk, seconds, extra, after });
        view.results().try_for_each(|v| self.define(v, Some(unit), 0.0))
    }

    /// Reads a transfer.
    fn transfer(&mut self, view: OpRef<'_>) -> Option<()> {
        let &Origin { unit, delay, .. } = self.origins.get(view.operands().first()?)?;
        let result = view.results().next()?;
        let (_, bytes) = self.mesh_and_bytes(result)?;
        self.graph.transfers.push((view.op, unit));
        self.define(result, unit, delay + self.machine.permute_seconds(bytes as u64, None))
    }

    /// Reads the results of `@main`.
    fn returned(&mut self, view: OpRef<'_>) -> Option<()> {
        for v in view.operands() {
            if let Some(value) = self.origins.get(v)?.value {
                self.graph.values[value].is_returned = true;
            }
        }
        Some(())
    }
}

/// Returns for each mesh itself and the meshes that share devices with it.
fn overlaps(topology: &Topology) -> Vec<Vec<usize>> {
    let mut of: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
    for (at, (_, mesh)) in topology.meshes.iter().enumerate() {
        mesh.device_ids.iter().flatten().for_each(|&id| of.entry(id).or_default().push(at));
    }
    let mut overlapping: Vec<Vec<usize>> = (0..topology.meshes.len()).map(|mesh| vec![mesh]).collect();
    for meshes in of.values().filter(|meshes| meshes.len() > 1) {
        meshes.iter().for_each(|&mesh| overlapping[mesh].extend(meshes));
    }
    for meshes in &mut overlapping {
        meshes.sort_unstable();
        meshes.dedup();
    }
    overlapping
}

/// The key by which units that can start at the same time are ordered; the least runs first.
type Rank = (usize, i64, usize, i64, usize);

fn rank(unit: &Unit, at: usize, schedule: Schedule, meshes: usize) -> Rank {
    let class = match (schedule, unit.role) {
        (Schedule::Program, _) => return (0, 0, 0, 0, at),
        (Schedule::Gpipe, Role::Forward) | (_, Role::Backward) => 0,
        _ => 1,
    };
    let group = if schedule == Schedule::Interleaved { unit.microbatch / meshes.max(1) as i64 } else { 0 };
    let chunk = if schedule == Schedule::Interleaved && unit.role == Role::Forward { unit.chunk } else { 0 };
    (class, group, chunk, unit.microbatch, at)
}
