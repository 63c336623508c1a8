//! What one run of a per-device program costs on a machine: seconds of arithmetic and communication on a timeline,
//! FLOPs, memory traffic and peak memory.
//!
//! A device has a stream for arithmetic and one for communication. On a machine that overlaps them, each op starts when
//! its operands are ready and its stream is free. Permutes over different links, such as both ways around a ring, run
//! concurrently, and so do collectives inside of slices and those over the network between slices. On other machines
//! all ops run in sequence. [`Trips`] says how often loops run.
//!
//! Copies between a device's memory and its host's run beside arithmetic and collectives on the same machines, one
//! after the other in each direction. The host's own work, and the network's share of the same link, are not modeled.

use dialect::buffers::{Buffers, Fusion, simplify};
use dialect::collective::{Groups, IdMode};
use dialect::ir::{Attr, Block, ElementType, Op, OpRef, Program, Value};
use dialect::kernel::{Contraction, External, Kernel, LibraryCall, Nest, Role};
use dialect::memory::{MemorySpace, MemorySpaces};
use dialect::op::{Collective, CollectiveKind, Control};
use dialect::ops::func;
use rustc_hash::FxHashMap;

use super::collective::Route;
use super::kernels::KernelWork;
use super::machine::Machine;
use super::precision::Precision;
use super::residuals::Scale;
use super::resources::{ALL_LINKS, COMPUTE, FROM_HOST, INSIDE, NETWORK, Routes, TO_HOST, stream};
use super::result::{Communication, Estimate, Event, HostCopy, Ranges, Unpriced};
use super::roofline::{Matmul, Work};
use super::simulation::Simulation;
use super::traffic::{Memory, Traffic, bytes_of};
use super::trips::Trips;

/// Prices one run of `@main` of a per-device program.
pub fn estimate(program: &Program, machine: &Machine) -> Estimate {
    price(program, machine, Detail::Peaks)
}

/// The same with the ranges in which measurements of the chip let one expect the figures.
pub fn estimate_ranges(program: &Program, machine: &Machine) -> Estimate {
    price(program, machine, Detail::Ranges)
}

/// The same without peaks, which stay 0.
pub fn estimate_time(program: &Program, machine: &Machine) -> Estimate {
    price(program, machine, Detail::Times)
}

/// What of an estimate is computed.
#[derive(Clone, Copy, PartialEq)]
enum Detail {
    /// Neither peaks nor ranges.
    Times,
    /// No ranges.
    Peaks,
    /// Everything.
    Ranges,
}

fn price(program: &Program, machine: &Machine, detail: Detail) -> Estimate {
    let Some(main) = func::function(program, "main") else { return Estimate::default() };
    let Some(block) = func::block(program, main) else { return Estimate::default() };
    // As it is before it runs.
    let mut simple = program.clone();
    let written = simplify(&mut simple, block);
    let program = &simple;
    let spaces = MemorySpaces::of(program, main);
    let (fusion, peak_bytes, host_peak_bytes) = match detail {
        Detail::Peaks | Detail::Ranges => {
            let Buffers { fusion, device_bytes, host_bytes, .. } = Buffers::of(program, main);
            (fusion, device_bytes as f64, host_bytes as f64)
        }
        Detail::Times => (Fusion::of(program, block), 0.0, 0.0),
    };
    let memory = Memory::new(program, &fusion, &spaces, block, machine.overlaps_communication());
    let priced = |copies_cost: bool, scale: Scale| {
        let mut run = Estimator {
            program,
            machine,
            fusion: &fusion,
            spaces: &spaces,
            memory: &memory,
            copies_cost,
            scale,
            written: &written,
            estimate: Estimate { compute_seconds: machine.step_latency(), ..Estimate::default() },
            weight: 1,
            guessed: false,
            permutes: FxHashMap::default(),
            routes: Routes::default(),
        };
        let mut clock = Clock::beginning(machine.step_latency());
        run.block(block, &mut clock);
        let waiting_seconds = machine.waiting_seconds(clock.end());
        Estimate { step_seconds: clock.end() + waiting_seconds, waiting_seconds, ..run.estimate }
    };
    let mut estimate = priced(true, Scale::default());
    if !estimate.host_copies.is_empty() {
        let longer = estimate.step_seconds - priced(false, Scale::default()).step_seconds;
        // Less is what sums of seconds are rounded by.
        estimate.host_exposed_seconds = if longer > 1e-9 * estimate.step_seconds { longer } else { 0.0 };
    }
    let residuals = if detail == Detail::Ranges { machine.residuals() } else { &[] };
    let ranges = Ranges::of(residuals, &estimate, |scale| priced(true, scale));
    Estimate { peak_bytes, host_peak_bytes, ranges, ..estimate }
}

/// The resources of a device and the values of a program.
type Clock = Simulation<Value>;

struct Estimator<'a> {
    program: &'a Program,
    machine: &'a Machine,
    fusion: &'a Fusion,
    spaces: &'a MemorySpaces,
    memory: &'a Memory<'a>,
    /// Whether copies between the device and its host take time.
    copies_cost: bool,
    /// How much longer or shorter than modelled ops take.
    scale: Scale,
    /// Maps ops that `simplify` made to the ops of the program that they replace.
    written: &'a FxHashMap<Op, Op>,
    estimate: Estimate,
    /// How often the current block runs.
    weight: u64,
    /// Whether a loop around the current block has unknown trips.
    guessed: bool,
    /// How the messages of permutes with the same pairs travel, which takes a walk over all devices.
    permutes: FxHashMap<(Attr, IdMode), Messages>,
    routes: Routes,
}

/// The messages of a permute.
#[derive(Clone, Copy)]
enum Messages {
    /// No device sends to another one.
    None,
    /// All on their way at once, and the resource that they occupy; where they go doesn't matter without a topology.
    Sent(Option<Route>, usize),
}

impl Estimator<'_> {
    fn block(&mut self, block: Block, clock: &mut Clock) {
        for &op in self.program.block_ops(block) {
            self.op(op, clock);
        }
    }

    fn op(&mut self, op: Op, clock: &mut Clock) {
        let view = self.program.view(op);
        if let Some(control) = view.def().control(view) {
            return self.control(view, control, clock);
        }
        if let Some(collective) = view.def().collective(view) {
            return self.collective(view, collective, clock);
        }
        let traffic = self.memory.traffic(op);
        if traffic.to_host > 0.0 {
            return self.host_copy(view, MemorySpace::Host, traffic.to_host, clock);
        }
        let (seconds, work) = self.compute(view, traffic);
        let mut seconds = seconds * self.scale.compute(work);
        if seconds > 0.0 {
            seconds += self.machine.op_latency();
            self.estimate.compute_seconds += seconds * self.weight as f64;
        }
        self.place(op, seconds, work, COMPUTE, clock);
    }

    /// Runs an op on a resource.
    fn place(&mut self, op: Op, seconds: f64, work: Work, resource: usize, clock: &mut Clock) {
        let operands = &self.program.op(op).operands;
        let ready = operands.iter().filter_map(|&v| clock.ready(v)).fold(0.0, f64::max);
        let start = match resource {
            _ if !self.machine.overlaps_communication() => clock.start(ready, clock.resources()),
            COMPUTE => clock.start(ready, [COMPUTE]),
            _ => clock.start(ready, clock.resources().filter(|&other| self.routes.meet(resource, other))),
        };
        let end = start + seconds;
        if seconds > 0.0 {
            clock.occupy(resource, end);
            let op = self.written.get(&op).copied().unwrap_or(op);
            let (stream, count) = (stream(resource), self.weight);
            self.estimate.timeline.push(Event { op, stream, start, seconds, work, count });
        }
        clock.finish(self.program.results(op), end);
    }

    fn host_copy(&mut self, view: OpRef<'_>, to: MemorySpace, bytes: f64, clock: &mut Clock) {
        let (seconds, count) = (if self.copies_cost { self.machine.host_seconds(bytes) } else { 0.0 }, self.weight);
        self.estimate.host_copy_seconds += seconds * count as f64;
        self.estimate.memory_traffic += bytes * count as f64;
        let op = self.written.get(&view.op).copied().unwrap_or(view.op);
        self.estimate.host_copies.push(HostCopy { op, to, bytes: bytes as u64, seconds, count });
        let link = if to == MemorySpace::Host { TO_HOST } else { FROM_HOST };
        self.place(view.op, seconds, Work { flops: 0.0, bytes }, link, clock);
    }

    fn collective(&mut self, view: OpRef<'_>, collective: Collective, clock: &mut Clock) {
        let sum =
            |values: &mut dyn Iterator<Item = Value>| values.map(|v| bytes_of(self.program, v)).sum::<f64>() as u64;
        let operand_bytes = sum(&mut view.operands().iter().copied());
        let result_bytes = sum(&mut view.results());
        let (seconds, links) = match collective.kind {
            CollectiveKind::CollectivePermute => self.permute_seconds(view, &collective.groups, operand_bytes),
            _ => self.collective_seconds(&collective, operand_bytes, result_bytes),
        };
        let seconds = seconds * self.scale.collective((operand_bytes + result_bytes) as f64);
        let on_host: Vec<Value> = view.operands().iter().copied().filter(|&v| self.spaces.is_on_host(v)).collect();
        if !on_host.is_empty() {
            // Devices send each other what is in their own memory.
            let bytes = on_host.iter().map(|&v| bytes_of(self.program, v)).sum();
            self.host_copy(view, MemorySpace::Device, bytes, clock);
            if let Some(copied) = view.results().next().and_then(|result| clock.ready(result)) {
                clock.finish(on_host, copied);
            }
        }
        let group = match collective.kind {
            CollectiveKind::CollectivePermute => 2,
            _ => collective.groups.size().max(1),
        };
        self.estimate.communication_seconds += seconds * self.weight as f64;
        let collective_kind = collective.kind;
        self.estimate.collectives.push(Communication {
            op: view.op,
            collective,
            operand_bytes,
            result_bytes,
            group,
            seconds,
            count: self.weight,
            guessed: self.guessed,
        });
        let work = Work { flops: 0.0, bytes: (operand_bytes + result_bytes) as f64 };
        let copies = self.machine.layout_copy_seconds(copied_for_layouts(view, collective_kind));
        if copies > 0.0 {
            self.estimate.compute_seconds += copies * self.weight as f64;
            self.place(view.op, copies, Work { flops: 0.0, bytes: 0.0 }, COMPUTE, clock);
        }
        self.place(view.op, seconds, work, links, clock);
    }

    /// Which device of the mesh a device of the program is: every replica runs on a slice of its own, and communication
    /// between slices is not modeled.
    fn device(&self) -> impl Fn(i64) -> i64 + use<> {
        let replicas = func::num_replicas(self.program) > 1;
        let partitions = func::num_partitions(self.program).max(1);
        move |d| if replicas { d.rem_euclid(partitions) } else { d }
    }

    fn permute_seconds(&mut self, view: OpRef<'_>, groups: &Groups, bytes: u64) -> (f64, usize) {
        let attr = view.def().groups(view).and_then(|rule| view.attr_id(rule.attribute));
        let key = attr.map(|attr| (attr, groups.mode()));
        let known = key.and_then(|key| self.permutes.get(&key).copied());
        let messages = match known {
            Some(known) => known,
            None => self.messages(groups),
        };
        key.map(|key| self.permutes.insert(key, messages));
        match messages {
            Messages::None => (0.0, ALL_LINKS),
            Messages::Sent(route, links) => (self.machine.permute_seconds(bytes, route.as_ref()), links),
        }
    }

    fn messages(&mut self, groups: &Groups) -> Messages {
        let device = self.device();
        let position = |d: i64| self.machine.position(device(d));
        let pairs = groups.pairs().map(|(s, t)| (position(s), position(t)));
        let mut pairs = pairs.filter(|p| p.0 != p.1);
        let Some(first) = pairs.next() else { return Messages::None };
        // Without topology all pairs are equally far apart.
        if self.machine.placement().is_none() {
            return Messages::Sent(None, ALL_LINKS);
        }
        let mut pairs: Vec<(u64, u64)> = [first].into_iter().chain(pairs).collect();
        pairs.sort_unstable();
        pairs.dedup();
        match self.machine.load(&pairs) {
            Some((route, links)) => Messages::Sent(Some(route), self.routes.resource(&route, links)),
            None => Messages::Sent(None, ALL_LINKS),
        }
    }

    fn collective_seconds(&self, collective: &Collective, operand: u64, result: u64) -> (f64, usize) {
        let group = self.machine.group_of(&collective.groups, self.device());
        if group.size() <= 1 {
            return (0.0, ALL_LINKS);
        }
        let route = match (group.is_inside(), group.is_across()) {
            (true, false) => INSIDE,
            (false, true) => NETWORK,
            _ => ALL_LINKS,
        };
        (self.machine.collective_seconds(collective.kind, operand as f64, result as f64, &group), route)
    }

    fn control(&mut self, view: OpRef<'_>, control: Control, clock: &mut Clock) {
        match control {
            Control::Identity if let Some(to) = self.spaces.moved(view) => {
                let bytes = view.results().map(|v| bytes_of(self.program, v)).sum();
                self.host_copy(view, to, bytes, clock);
            }
            Control::Identity => self.place(view.op, 0.0, Work { flops: 0.0, bytes: 0.0 }, COMPUTE, clock),
            Control::While => {
                let Trips { count, guessed } = Trips::of(view);
                let outer = self.guessed;
                self.guessed |= guessed;
                let seconds = self.region(view, &[0, 1], count, clock.end());
                self.guessed = outer;
                self.estimate.guessed_loops += u64::from(guessed);
                self.barrier(view.op, seconds * count as f64, clock);
            }
            Control::If | Control::Case => {
                // Only the slowest branch and its collectives count.
                let before = self.estimate.clone();
                let mut best: Option<(f64, Estimate)> = None;
                for i in 0..self.program.op(view.op).regions.len() {
                    self.estimate = before.clone();
                    let seconds = self.region(view, &[i], 1, clock.end());
                    if best.as_ref().is_none_or(|b| b.0 < seconds) {
                        best = Some((seconds, self.estimate.clone()));
                    }
                }
                let (seconds, estimate) = best.unwrap_or((0.0, before));
                self.estimate = estimate;
                self.barrier(view.op, seconds, clock);
            }
            Control::Call | Control::Manual | Control::Inline => {
                let all: Vec<usize> = (0..self.program.op(view.op).regions.len()).collect();
                let seconds = self.region(view, &all, 1, clock.end());
                self.barrier(view.op, seconds, clock);
            }
        }
    }

    /// Seconds of one run of these regions, starting at `start`; everything in them counts `times` times.
    fn region(&mut self, view: OpRef<'_>, regions: &[usize], times: u64, start: f64) -> f64 {
        let outer = self.weight;
        self.weight = outer.saturating_mul(times);
        let mut clock = Clock::beginning(start);
        for &i in regions {
            if let Some(block) = view.block(i) {
                self.block(block, &mut clock);
            }
        }
        self.weight = outer;
        clock.end() - start
    }

    /// An op that waits for everything before it, and that everything after it waits for.
    fn barrier(&self, op: Op, seconds: f64, clock: &mut Clock) {
        let end = clock.end() + seconds;
        clock.occupy(COMPUTE, end);
        clock.occupy(ALL_LINKS, end);
        clock.finish(self.program.results(op), end);
    }

    /// Seconds of arithmetic and memory traffic of an op; counts its FLOPs and bytes.
    fn compute(&mut self, view: OpRef<'_>, traffic: Traffic) -> (f64, Work) {
        // The host computes what it holds, or nothing but an address.
        if view.results().any(|v| self.spaces.is_on_host(v)) {
            return (0.0, Work { flops: 0.0, bytes: 0.0 });
        }
        let bytes = traffic.device;
        let read = self.machine.host_seconds(traffic.from_host);
        if let Some(call) = view.def().library_call(view) {
            return self.library_call(view, &call, bytes, read);
        }
        // Of most ops, fusion has found already that they are nests without a product.
        let other = self.fusion.facts(view.op).is_none_or(|facts| facts.multiplies);
        let product = match other.then(|| view.def().kernel(view)) {
            None => Some(None),
            Some(Kernel::Nest(nest)) => Some(Contraction::of(&nest).map(|c| (nest.flops(), matmul(&nest, &c)))),
            Some(_) => None,
        };
        let flops = match &product {
            Some(product) => product.as_ref().map_or(0.0, |p| p.0),
            None => view.def().flops(view),
        };
        self.estimate.memory_traffic += bytes * self.weight as f64;
        self.estimate.flops += flops * self.weight as f64;
        let work = Work { flops, bytes };
        if flops == 0.0 {
            return (self.machine.memory_seconds(bytes).max(read), work);
        }
        let element = |i: usize| view.operand_tensor(i).map(|t| t.element).and_then(ElementType::text).unwrap_or("f32");
        let precision = Precision::of_product(element(0), element(1));
        let size = view.operands().iter().copied().chain(view.results()).map(|v| bytes_of(self.program, v)).sum();
        let seconds = match product.flatten() {
            Some((_, matmul)) => self.machine.matmul_roofline(&matmul, precision, bytes, size).total(),
            None => {
                let rate = match view.def().kernel(view) {
                    Kernel::External(External::RaggedDot(_)) => self.machine.grouped_rate(precision),
                    _ => self.machine.product_rate(precision, size),
                };
                (flops / rate).max(self.machine.memory_seconds(bytes))
            }
        };
        (seconds.max(read), work)
    }

    /// Seconds of a kernel's call that moves `bytes` if nothing else is stated; counts its FLOPs and bytes.
    fn library_call(&mut self, view: OpRef<'_>, call: &LibraryCall<'_>, bytes: f64, read: f64) -> (f64, Work) {
        let (work, seconds) = match KernelWork::of(view, call, self.machine) {
            Some(known) => {
                let work = Work { flops: known.flops, bytes: known.bytes.unwrap_or(bytes) };
                (work, known.seconds(bytes, self.machine))
            }
            None => {
                self.estimate.unpriced.push(Unpriced { op: view.op, bytes, count: self.weight });
                (Work { flops: 0.0, bytes }, self.machine.memory_seconds(bytes))
            }
        };
        self.estimate.memory_traffic += work.bytes * self.weight as f64;
        self.estimate.flops += work.flops * self.weight as f64;
        (seconds.max(read), work)
    }
}

/// Returns the elements that are copied before or after a collective, because it splits or joins a dimension that isn't
/// the outermost one in memory.
fn copied_for_layouts(view: OpRef<'_>, kind: CollectiveKind) -> f64 {
    let copied = |value: Option<Value>, dim: &str| {
        let (ty, dim) = value.and_then(|v| view.program.tensor_type(v)).zip(view.int(dim))?;
        let is_outermost = ty.shape.iter().take(dim.max(0) as usize).all(|&n| n == 1);
        (!is_outermost).then(|| ty.shape.iter().map(|&n| n as f64).product::<f64>())
    };
    let (operand, result) = (view.operands().first().copied(), view.results().next());
    let elements = match kind {
        CollectiveKind::AllGather => [copied(result, "all_gather_dim"), None],
        CollectiveKind::ReduceScatter => [copied(operand, "scatter_dimension"), None],
        CollectiveKind::AllToAll => [copied(operand, "split_dimension"), copied(result, "concat_dimension")],
        _ => [None, None],
    };
    elements.into_iter().flatten().sum()
}

/// A product as the machine model takes it; the positions inside a convolution's windows are contracted.
fn matmul(nest: &Nest, product: &Contraction) -> Matmul {
    let size = |role| product.size(nest, role);
    Matmul {
        batch: size(Role::Batch),
        rows: size(Role::Left),
        contracting: size(Role::Contracted),
        columns: size(Role::Right),
    }
}
