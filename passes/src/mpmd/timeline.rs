//! A model of when fragments run: each mesh runs one fragment at a time, and only the readers of a transferred value
//! wait for the transfer.

use dialect::ir::{AttrData, Block, Name, Op, Program, Value};
use dialect::ops::func;
use dialect::ops::mpmd::{self, Kind, Topology};
use rustc_hash::FxHashMap;

use crate::compile_options::Schedule;
use crate::estimate::Machine;

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
    meshes: usize,
    /// For each mesh, the other meshes that share devices with it.
    beside: Vec<Vec<usize>>,
    /// Bytes of a device's shards of the arguments of each mesh.
    arguments: Vec<f64>,
    /// Values of fragments and transfers.
    held: Vec<LiveValue>,
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

impl LiveValue {
    fn new(mesh: usize, bytes: f64, producer: Option<usize>) -> Self {
        Self { mesh, bytes, producer, readers: Vec::new(), is_returned: false }
    }
}

/// A run of all fragments.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
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

impl Timeline {
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
        let place: FxHashMap<Name, usize> = topology.meshes.iter().enumerate().map(|(i, m)| (m.0, i)).collect();
        let bytes = |v: Value| -> Option<(usize, f64)> {
            let tensor = program.type_data(program.value_type(v)).mesh_tensor()?;
            let local = topology.local_type(tensor)?;
            Some((*place.get(&tensor.mesh)?, local.bytes()? as f64))
        };
        let (arguments, beside) = (vec![0.0; meshes], overlaps(topology));
        let mut graph = Self { units: Vec::new(), transfers: Vec::new(), meshes, beside, arguments, held: Vec::new() };
        // For each value: its producer, its transfer time, and its index in `held`.
        let mut made: FxHashMap<Value, (Option<usize>, f64, Option<usize>)> = FxHashMap::default();
        for &argument in program.block_args(block) {
            let (mesh, size) = bytes(argument)?;
            graph.arguments[mesh] += size;
            made.insert(argument, (None, 0.0, None));
        }
        let functions = func::functions_by_name(program);
        let mut stages: Vec<Vec<Name>> = vec![Vec::new(); meshes];
        for &op in program.block_ops(block) {
            let view = program.view(op);
            let unit = graph.units.len();
            match mpmd::kind(view) {
                Some(Kind::FragmentCall) => {
                    let function = *functions.get(func::callee(view)?)?;
                    let number = |name: &str| match program.attr(function, name).map(|a| program.attr_data(a)) {
                        Some(AttrData::Float(bits, _)) => f64::from_bits(*bits),
                        Some(AttrData::Int(v, _)) => *v as f64,
                        _ => 0.0,
                    };
                    let mesh = *place.get(&program.find_name(view.attr(mpmd::MESH_NAME)?.as_str()?)?)?;
                    let (origin, turn) = (mpmd::origins(view).first().copied(), view.int(mpmd::CALL_COUNTER));
                    let role = match origin.zip(turn) {
                        None => Role::Other,
                        Some(((_, transposed), _)) if transposed % 2 == 0 => Role::Forward,
                        Some(_) => Role::Backward,
                    };
                    let chunk = origin.map_or(0, |(name, _)| {
                        let known = stages[mesh].iter().position(|&n| n == name);
                        known.unwrap_or_else(|| {
                            stages[mesh].push(name);
                            stages[mesh].len() - 1
                        })
                    });
                    let mut after = Vec::new();
                    for v in view.operands() {
                        let &(by, delay, held) = made.get(v)?;
                        after.extend(by.map(|by| (by, delay)));
                        if let Some(held) = held {
                            graph.held[held].readers.push(unit);
                        }
                    }
                    let own: f64 =
                        view.operands().iter().copied().chain(view.results()).filter_map(bytes).map(|b| b.1).sum();
                    let (seconds, extra) = (number(mpmd::SECONDS), (number(mpmd::PEAK_BYTES) - own).max(0.0));
                    let microbatch = turn.unwrap_or(0);
                    graph.units.push(Unit { op, mesh, role, microbatch, chunk, seconds, extra, after });
                    for v in view.results() {
                        let (mesh, size) = bytes(v)?;
                        graph.held.push(LiveValue::new(mesh, size, Some(unit)));
                        made.insert(v, (Some(unit), 0.0, Some(graph.held.len() - 1)));
                    }
                }
                Some(Kind::Transfer) => {
                    let &from = view.operands().first()?;
                    let &(by, delay, _) = made.get(&from)?;
                    let result = view.results().next()?;
                    let (mesh, size) = bytes(result)?;
                    let delay = delay + machine.permute_seconds(size as u64, None);
                    graph.transfers.push((op, by));
                    graph.held.push(LiveValue::new(mesh, size, by));
                    made.insert(result, (by, delay, Some(graph.held.len() - 1)));
                }
                _ if view.def().terminator() => {
                    for v in view.operands() {
                        if let Some(held) = made.get(v)?.2 {
                            graph.held[held].is_returned = true;
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(graph)
    }

    /// Runs the fragments in the order of a schedule.
    pub(super) fn run(&self, schedule: Schedule) -> Timeline {
        let n = self.units.len();
        let chunks = 1 + self.units.iter().map(|u| u.chunk).max().unwrap_or(0);
        let mut left = vec![[0usize; 3]; self.meshes];
        self.units.iter().for_each(|u| left[u.mesh][u.role as usize] += 1);
        let backwards: Vec<bool> = left.iter().map(|l| l[Role::Backward as usize] > 0).collect();
        let mut under_way = vec![0usize; self.meshes];
        let mut waits: Vec<usize> = self.units.iter().map(|u| u.after.len()).collect();
        let mut readers: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
        for (i, unit) in self.units.iter().enumerate() {
            unit.after.iter().for_each(|&(by, delay)| readers[by].push((i, delay)));
        }
        let mut ready = vec![0.0f64; n];
        let mut open: Vec<Vec<usize>> = vec![Vec::new(); self.meshes];
        (0..n).filter(|&i| waits[i] == 0).for_each(|i| open[self.units[i].mesh].push(i));
        // In program order a mesh may only run its next unit.
        let mut next: Vec<std::collections::VecDeque<usize>> = vec![Default::default(); self.meshes];
        (0..n).for_each(|i| next[self.units[i].mesh].push_back(i));
        let mut free = vec![0.0f64; self.meshes];
        let mut line = Timeline { times: vec![(0.0, 0.0); n], busy: vec![0.0; self.meshes], ..Timeline::default() };
        while line.order.len() < n {
            let mut best: Option<((bool, f64, Rank), usize)> = None;
            for mesh in 0..self.meshes {
                for &i in &open[mesh] {
                    let unit = &self.units[i];
                    let allowed = match (schedule, unit.role) {
                        (Schedule::Program, _) => next[mesh].front() == Some(&i),
                        (Schedule::Gpipe, Role::Backward) => left[mesh][Role::Forward as usize] == 0,
                        (Schedule::OneForwardOneBackward, Role::Forward) if backwards[mesh] => {
                            under_way[mesh] < (self.meshes - mesh) * chunks
                        }
                        (Schedule::Interleaved, Role::Forward) if backwards[mesh] => {
                            under_way[mesh] <= (self.meshes - mesh - 1) * 2 + (chunks - 1) * self.meshes
                        }
                        _ => true,
                    };
                    let start = free[mesh].max(ready[i]);
                    let key = (!allowed, start, rank(unit, i, schedule, self.meshes));
                    if best.as_ref().is_none_or(|b| key < b.0) {
                        best = Some((key, i));
                    }
                }
            }
            // The units are in an order in which each can run, so one of them always can.
            let Some((_, i)) = best else { break };
            let unit = &self.units[i];
            let start = free[unit.mesh].max(ready[i]);
            let end = start + unit.seconds;
            free[unit.mesh] = end;
            self.beside[unit.mesh].iter().for_each(|&other| free[other] = free[other].max(end));
            line.times[i] = (start, end);
            line.busy[unit.mesh] += unit.seconds;
            line.seconds = line.seconds.max(end);
            line.order.push(i);
            open[unit.mesh].retain(|&j| j != i);
            next[unit.mesh].retain(|&j| j != i);
            left[unit.mesh][unit.role as usize] -= 1;
            match unit.role {
                Role::Forward => under_way[unit.mesh] += 1,
                Role::Backward => under_way[unit.mesh] = under_way[unit.mesh].saturating_sub(1),
                Role::Other => {}
            }
            for &(reader, delay) in &readers[i] {
                ready[reader] = ready[reader].max(end + delay);
                waits[reader] -= 1;
                if waits[reader] == 0 {
                    open[self.units[reader].mesh].push(reader);
                }
            }
        }
        let times = &line.times;
        line.order.sort_by(|&a, &b| times[a].0.total_cmp(&times[b].0));
        line.peaks = self.peaks(&line);
        line
    }

    /// Returns the most bytes that a device of each mesh holds: its arguments, results of fragments that later ones
    /// still read, and the extra bytes of the running fragment.
    fn peaks(&self, line: &Timeline) -> Vec<f64> {
        let mut place = vec![0; self.units.len()];
        line.order.iter().enumerate().for_each(|(at, &i)| place[i] = at);
        // The values that become live, and those that die, at each position in the order.
        let n = line.order.len();
        let mut changes: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n + 1];
        for value in &self.held {
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
        for (at, &i) in line.order.iter().enumerate() {
            changes[at].iter().for_each(|&(mesh, bytes)| held[mesh] += bytes);
            let unit = &self.units[i];
            (0..self.meshes).for_each(|mesh| peaks[mesh] = peaks[mesh].max(held[mesh]));
            peaks[unit.mesh] = peaks[unit.mesh].max(held[unit.mesh] + unit.extra);
        }
        peaks
    }
}

/// Returns for each mesh the other meshes that share devices with it.
fn overlaps(topology: &Topology) -> Vec<Vec<usize>> {
    let mut of: FxHashMap<i64, Vec<usize>> = FxHashMap::default();
    for (at, (_, mesh)) in topology.meshes.iter().enumerate() {
        mesh.device_ids.iter().flatten().for_each(|&id| of.entry(id).or_default().push(at));
    }
    let mut beside = vec![Vec::new(); topology.meshes.len()];
    for meshes in of.values().filter(|meshes| meshes.len() > 1) {
        for &mesh in meshes {
            beside[mesh].extend(meshes.iter().copied().filter(|&other| other != mesh));
        }
    }
    for others in &mut beside {
        others.sort_unstable();
        others.dedup();
    }
    beside
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
