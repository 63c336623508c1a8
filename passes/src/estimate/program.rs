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
use dialect::kernel::{Contraction, Kernel, Nest, Role};
use dialect::memory::{MemorySpace, MemorySpaces};
use dialect::op::{Collective, CollectiveKind, Control};
use dialect::ops::func;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::collective::{Links, Route};
use super::machine::Machine;
use super::precision::Precision;
use super::roofline::{Matmul, Work};
use super::traffic::{Traffic, bytes_of};
use super::trips::Trips;

/// What a run costs.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    /// Seconds of arithmetic and memory traffic.
    pub compute_seconds: f64,
    /// Seconds of collectives.
    pub communication_seconds: f64,
    /// Seconds from start to end.
    pub step_seconds: f64,
    /// FLOPs of products and convolutions on one device.
    pub flops: f64,
    /// Bytes one device reads and writes in its memory.
    pub memory_traffic: f64,
    /// Seconds of copies between the device's memory and the host's.
    pub host_copy_seconds: f64,
    /// Seconds that the step is longer because of these copies.
    pub host_exposed_seconds: f64,
    /// Peak memory in which one device holds its values, in bytes, as laid out by [`Buffers`].
    pub peak_bytes: f64,
    /// Peak memory in which the host holds one device's values, in bytes.
    pub host_peak_bytes: f64,
    /// Every collective, in the order of the program.
    pub collectives: Vec<Communication>,
    /// Every copy between the device's memory and the host's, in the order of the program.
    pub host_copies: Vec<HostCopy>,
    /// Loops whose trips are unknown, which count [`UNKNOWN_TRIP_COUNT`](super::target::UNKNOWN_TRIP_COUNT) times.
    pub guessed_loops: u64,
    /// When each op runs; for a loop, its first trip.
    pub timeline: Vec<Event>,
}

impl Estimate {
    /// Seconds during which nothing is computed.
    pub fn exposed_seconds(&self) -> f64 {
        (self.step_seconds - self.compute_seconds).max(0.0)
    }
}

/// One collective op.
#[derive(Clone, Debug)]
pub struct Communication {
    /// The op.
    pub op: Op,
    /// What it does.
    pub collective: Collective,
    /// Bytes of operands per device.
    pub operand_bytes: u64,
    /// Bytes of results per device.
    pub result_bytes: u64,
    /// Devices that take part together; 2 for a permute.
    pub group: usize,
    /// Seconds of one execution.
    pub seconds: f64,
    /// Executions.
    pub count: u64,
    /// Whether a loop around it has unknown trips, so that `count` is a guess.
    pub guessed: bool,
}

/// One copy between a device's memory and its host's.
#[derive(Clone, Copy, Debug)]
pub struct HostCopy {
    /// The op that copies.
    pub op: Op,
    /// The memory that it copies to.
    pub to: MemorySpace,
    /// Bytes of each device.
    pub bytes: u64,
    /// Seconds of one execution.
    pub seconds: f64,
    /// Executions.
    pub count: u64,
}

/// What of a device an op keeps busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Arithmetic and memory traffic.
    Compute,
    /// Links to other devices.
    Communication,
    /// The link to the host, for copies to this memory.
    Host(MemorySpace),
}

impl Stream {
    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Communication => "communication",
            Self::Host(MemorySpace::Host) => "to the host",
            Self::Host(MemorySpace::Device) => "from the host",
        }
    }

    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Compute, Self::Communication, Self::Host(MemorySpace::Host), Self::Host(MemorySpace::Device)];
}

/// One op on the timeline.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The op.
    pub op: Op,
    /// Where it runs.
    pub stream: Stream,
    /// Seconds from the start of the program.
    pub start: f64,
    /// How long it takes.
    pub seconds: f64,
    /// What it does in that time.
    pub work: Work,
}

/// Prices one run of `@main` of a per-device program.
pub fn estimate(program: &Program, machine: &Machine) -> Estimate {
    priced(program, machine, |program, main| {
        let buffers = Buffers::of(program, main);
        (buffers.fusion, Peak { device: buffers.device_bytes, host: buffers.host_bytes })
    })
}

/// The same without peaks, which stay 0.
pub fn estimate_time(program: &Program, machine: &Machine) -> Estimate {
    priced(program, machine, |program, main| match func::block(program, main) {
        Some(block) => (Fusion::of(program, block), Peak::default()),
        None => (Fusion::default(), Peak::default()),
    })
}

/// Peaks of memory in bytes.
#[derive(Default)]
struct Peak {
    device: usize,
    host: usize,
}

/// Prices a program; `decide` says which ops share a kernel, and the peaks.
fn priced(program: &Program, machine: &Machine, decide: impl Fn(&Program, Op) -> (Fusion, Peak)) -> Estimate {
    let Some(main) = func::function(program, "main") else { return Estimate::default() };
    let Some(block) = func::block(program, main) else { return Estimate::default() };
    // As it is before it runs.
    let mut simple = program.clone();
    let written = simplify(&mut simple, block);
    let program = &simple;
    let spaces = MemorySpaces::of(program, main);
    let (fusion, peak) = decide(program, main);
    let priced = |copies_cost: bool| {
        let mut run = Estimator {
            program,
            machine,
            fusion: &fusion,
            spaces: &spaces,
            copies_cost,
            written: &written,
            estimate: Estimate::default(),
            weight: 1,
            guessed: false,
            permutes: FxHashMap::default(),
            routes: Routes::default(),
        };
        let mut clock = Clock::default();
        run.block(block, &mut clock);
        Estimate { step_seconds: clock.now(), ..run.estimate }
    };
    let mut estimate = priced(true);
    if !estimate.host_copies.is_empty() {
        let longer = estimate.step_seconds - priced(false).step_seconds;
        // Less is what sums of seconds are rounded by.
        estimate.host_exposed_seconds = if longer > 1e-9 * estimate.step_seconds { longer } else { 0.0 };
    }
    (estimate.peak_bytes, estimate.host_peak_bytes) = (peak.device as f64, peak.host as f64);
    estimate
}

/// When each stream is free, and when each value is ready.
#[derive(Default)]
struct Clock {
    computing: f64,
    /// When the last permute of each route ends, and first the last other collective; those not there yet, when the
    /// clock started.
    communicating: SmallVec<[f64; 8]>,
    started: f64,
    ready: FxHashMap<Value, f64>,
}

/// The numbers, before those of permutes' routes, of collectives that use all links, those inside of slices alone, the
/// network between slices alone, and of copies to the host and from it.
const ALL_LINKS: usize = 0;
const INSIDE: usize = 1;
const NETWORK: usize = 2;
const TO_HOST: usize = 3;
const FROM_HOST: usize = 4;
const FIRST_ROUTE: usize = 5;

impl Clock {
    fn starting(at: f64) -> Self {
        Self { computing: at, started: at, ..Self::default() }
    }

    fn now(&self) -> f64 {
        self.communication().max(self.computing)
    }

    /// When all links are free.
    fn communication(&self) -> f64 {
        self.communicating.iter().fold(self.started, |a: f64, &b| a.max(b))
    }

    /// When the links of a route are free.
    fn free(&self, routes: &Routes, route: usize) -> f64 {
        let meets = |&(other, _): &(usize, &f64)| routes.meet(route, other);
        self.communicating.iter().enumerate().filter(meets).fold(self.started, |free, (_, &end)| free.max(end))
    }

    fn use_until(&mut self, route: usize, end: f64) {
        if self.communicating.len() <= route {
            self.communicating.resize(route + 1, self.started);
        }
        self.communicating[route] = end;
    }
}

struct Estimator<'a> {
    program: &'a Program,
    machine: &'a Machine,
    fusion: &'a Fusion,
    spaces: &'a MemorySpaces,
    /// Whether copies between the device and its host take time.
    copies_cost: bool,
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
    /// All on their way at once; where they go doesn't matter without a topology. With the number of the route.
    Sent(Option<Route>, usize),
}

/// The routes of permutes.
#[derive(Default)]
struct Routes {
    links: Vec<Links>,
    /// For each route, whether it has links inside of slices, and whether it goes over the network.
    levels: Vec<[bool; 2]>,
    /// For each route, which ones before it have a link of it.
    meet: Vec<Vec<bool>>,
}

impl Routes {
    /// The number of a route over these links.
    fn number(&mut self, route: &Route, links: Links) -> usize {
        let known = self.links.iter().position(|l| *l == links);
        known.unwrap_or_else(|| {
            self.meet.push(self.links.iter().map(|l| l.meet(&links)).collect());
            self.levels.push([route.link_messages + route.chiplet_messages > 0, route.network_messages > 0]);
            self.links.push(links);
            self.links.len() - 1
        }) + FIRST_ROUTE
    }

    /// Whether two routes have a link.
    fn meet(&self, a: usize, b: usize) -> bool {
        let (low, high) = (a.min(b), a.max(b));
        match low {
            _ if low == high => true,
            _ if [low, high].iter().any(|route| (TO_HOST..FIRST_ROUTE).contains(route)) => false,
            ALL_LINKS => true,
            INSIDE if high == NETWORK => false,
            INSIDE | NETWORK => self.levels[high - FIRST_ROUTE][low - INSIDE],
            _ => self.meet[high - FIRST_ROUTE][low - FIRST_ROUTE],
        }
    }
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
        let traffic = Traffic::of(self.program, self.fusion, self.spaces, op);
        if traffic.to_host > 0.0 {
            return self.host_copy(view, MemorySpace::Host, traffic.to_host, clock);
        }
        let (seconds, work) = self.compute(view, traffic);
        if seconds > 0.0 {
            self.estimate.compute_seconds += seconds * self.weight as f64;
        }
        self.place(op, seconds, work, None, clock);
    }

    /// Puts an op on the timeline; `route` is how it communicates.
    fn place(&mut self, op: Op, seconds: f64, work: Work, route: Option<usize>, clock: &mut Clock) {
        let operands = &self.program.op(op).operands;
        let there = operands.iter().filter_map(|v| clock.ready.get(v)).fold(0.0, |a: f64, &b| a.max(b));
        let hand = match (self.machine.overlaps_communication(), route) {
            (false, _) => clock.now(),
            (true, None) => clock.computing,
            (true, Some(route)) => clock.free(&self.routes, route),
        };
        let start = there.max(hand);
        let end = start + seconds;
        if seconds > 0.0 {
            match route {
                None => clock.computing = end,
                Some(route) => clock.use_until(route, end),
            }
            let op = self.written.get(&op).copied().unwrap_or(op);
            let stream = match route {
                None => Stream::Compute,
                Some(TO_HOST) => Stream::Host(MemorySpace::Host),
                Some(FROM_HOST) => Stream::Host(MemorySpace::Device),
                Some(_) => Stream::Communication,
            };
            self.estimate.timeline.push(Event { op, stream, start, seconds, work });
        }
        for value in self.program.results(op) {
            clock.ready.insert(value, end);
        }
    }

    fn host_copy(&mut self, view: OpRef<'_>, to: MemorySpace, bytes: f64, clock: &mut Clock) {
        let (seconds, count) = (if self.copies_cost { self.machine.host_seconds(bytes) } else { 0.0 }, self.weight);
        self.estimate.host_copy_seconds += seconds * count as f64;
        self.estimate.memory_traffic += bytes * count as f64;
        let op = self.written.get(&view.op).copied().unwrap_or(view.op);
        self.estimate.host_copies.push(HostCopy { op, to, bytes: bytes as u64, seconds, count });
        let route = if to == MemorySpace::Host { TO_HOST } else { FROM_HOST };
        self.place(view.op, seconds, Work { flops: 0.0, bytes }, Some(route), clock);
    }

    fn collective(&mut self, view: OpRef<'_>, collective: Collective, clock: &mut Clock) {
        let sum =
            |values: &mut dyn Iterator<Item = Value>| values.map(|v| bytes_of(self.program, v)).sum::<f64>() as u64;
        let operand_bytes = sum(&mut view.operands().iter().copied());
        let result_bytes = sum(&mut view.results());
        let (seconds, route) = match collective.kind {
            CollectiveKind::CollectivePermute => self.permute_seconds(view, &collective.groups, operand_bytes),
            _ => self.collective_seconds(&collective, operand_bytes, result_bytes),
        };
        let on_host: Vec<Value> = view.operands().iter().copied().filter(|&v| self.spaces.is_on_host(v)).collect();
        if !on_host.is_empty() {
            // Devices send each other what is in their own memory.
            let bytes = on_host.iter().map(|&v| bytes_of(self.program, v)).sum();
            self.host_copy(view, MemorySpace::Device, bytes, clock);
            let copied = view.results().next().and_then(|result| clock.ready.get(&result)).copied();
            copied.into_iter().for_each(|at| clock.ready.extend(on_host.iter().map(|&v| (v, at))));
        }
        let group = match collective.kind {
            CollectiveKind::CollectivePermute => 2,
            _ => collective.groups.size().max(1),
        };
        self.estimate.communication_seconds += seconds * self.weight as f64;
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
        self.place(view.op, seconds, work, Some(route), clock);
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
            Messages::Sent(route, number) => (self.machine.permute_seconds(bytes, route.as_ref()), number),
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
            Some((route, links)) => Messages::Sent(Some(route), self.routes.number(&route, links)),
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
            Control::Identity => self.place(view.op, 0.0, Work { flops: 0.0, bytes: 0.0 }, None, clock),
            Control::While => {
                let Trips { count, guessed } = Trips::of(view);
                let outer = self.guessed;
                self.guessed |= guessed;
                let seconds = self.region(view, &[0, 1], count, clock.now());
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
                    let seconds = self.region(view, &[i], 1, clock.now());
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
                let seconds = self.region(view, &all, 1, clock.now());
                self.barrier(view.op, seconds, clock);
            }
        }
    }

    /// Seconds of one run of these regions, starting at `start`; everything in them counts `times` times.
    fn region(&mut self, view: OpRef<'_>, regions: &[usize], times: u64, start: f64) -> f64 {
        let outer = self.weight;
        self.weight = outer.saturating_mul(times);
        let mut clock = Clock::starting(start);
        for &i in regions {
            if let Some(block) = view.block(i) {
                self.block(block, &mut clock);
            }
        }
        self.weight = outer;
        clock.now() - start
    }

    /// An op that waits for everything before it, and that everything after it waits for.
    fn barrier(&self, op: Op, seconds: f64, clock: &mut Clock) {
        let end = clock.now() + seconds;
        clock.computing = end;
        clock.use_until(ALL_LINKS, end);
        for value in self.program.results(op) {
            clock.ready.insert(value, end);
        }
    }

    /// Seconds of arithmetic and memory traffic of an op; counts its FLOPs and bytes.
    fn compute(&mut self, view: OpRef<'_>, traffic: Traffic) -> (f64, Work) {
        // The host computes what it holds, or nothing but an address.
        if view.results().any(|v| self.spaces.is_on_host(v)) {
            return (0.0, Work { flops: 0.0, bytes: 0.0 });
        }
        let bytes = traffic.device;
        let read = self.machine.host_seconds(traffic.from_host);
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
        let seconds = match product.flatten() {
            Some((_, matmul)) => self.machine.matmul_roofline(&matmul, precision, bytes).total(),
            None => (flops / self.machine.peak_flops(precision)).max(self.machine.memory_seconds(bytes)),
        };
        (seconds.max(read), work)
    }
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
