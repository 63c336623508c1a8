//! The memory of all devices with their inputs, and runs of the program with one thread per device.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use dialect::ir::Op;
use dialect::literal::Literal;
use dialect::sharding::Layout;
use rustc_hash::FxHashSet;

use super::memory::Arena;
use super::steps::{Device, Fault};
use super::trace::{Recorder, Track};
use crate::collective::{Plan, Ranks, Scratch, Shared, Site, Transport, Wire};
use crate::execute::Executable;
use crate::execute::fuse::common::Common;
use crate::execute::fuse::shared::{Packing, SharedPanels};
use crate::execute::lower::step::{Slot, SlotData, Step};
use crate::subnormals::Subnormals;
use crate::threads;

/// The memory of all devices, with their inputs.
pub struct Session<'e> {
    pub(super) executable: &'e Executable,
    /// The device numbers used in messages.
    ids: Vec<u32>,
    /// The devices that this process runs.
    pub(super) held: Range<usize>,
    /// The memory of the devices of this process.
    pub(super) arenas: Vec<Arena>,
    /// For each of `Lowered::commons`, the memory of each group of devices; empty if there isn't enough memory.
    pub(super) commons: Vec<Vec<Arena>>,
    /// The connection to other processes, if they run some of the devices.
    wire: Option<Arc<dyn Wire>>,
    scratch: Scratch,
    pub(super) subnormals: Subnormals,
    /// The number of loop iterations that the first device has started.
    pub(super) turns: Arc<AtomicU64>,
    /// Whether sums between processes may be in any order.
    fast_sums: bool,
}

/// The maximum number of collectives shown at which devices wait forever.
const MAX_SHOWN: usize = 4;

/// The maximum number of devices that run natively, because systems limit the threads of a process, and the mappings of
/// their stacks.
const MAX_THREADS: usize = 16_384;

impl Executable {
    /// Allocates the memory of all devices, with constants in place.
    pub fn session(&self) -> Result<Session<'_>, Diagnostic> {
        self.session_among((0..self.requirements.devices as u32).collect(), None)
    }

    /// Does the same for devices with these numbers, one for each of the program's devices in order. Messages contain
    /// the numbers; the results don't depend on them. With a wire, the devices are divided evenly among its ranks, in
    /// order, and only the memory of this rank's devices is allocated.
    pub fn session_among(&self, ids: Vec<u32>, wire: Option<Arc<dyn Wire>>) -> Result<Session<'_>, Diagnostic> {
        let (rank, ranks) = wire.as_ref().map_or((0, 1), |wire| (wire.rank(), wire.ranks().max(1)));
        if !self.requirements.devices.is_multiple_of(ranks) {
            let message = format!("{} devices can't be divided among {ranks} ranks", self.requirements.devices);
            return Err(Diagnostic::error(codes::DEVICE_NUMBERS, Default::default(), message));
        }
        let each = self.requirements.devices / ranks;
        let held = rank * each..(rank + 1) * each;
        if ids.len() != self.requirements.devices {
            let message =
                format!("the program runs on {} devices, but {} are named", self.requirements.devices, ids.len());
            return Err(Diagnostic::error(codes::DEVICE_NUMBERS, Default::default(), message));
        }
        if each > MAX_THREADS {
            let message = format!("{each} devices need as many threads, more than the limit of {MAX_THREADS}");
            return Err(Diagnostic::error(codes::NO_NATIVE_FORM, Default::default(), message)
                .note("add --interpret: the reference evaluator runs any number of devices"));
        }
        let free = self.requirements.fits(&self.program, &held, 0)?;
        let arenas = held.clone().map(|_| Arena::new(self.requirements.arena_bytes)).collect::<Option<Vec<Arena>>>();
        let arenas = arenas.ok_or_else(|| self.requirements.does_not_fit(&self.program, &held, None))?;
        for constant in &self.lowered.constants {
            arenas.iter().for_each(|a| a.write_literal(self.slot(constant.slot).offset, &constant.value));
        }
        // A group may have devices of several processes, which can't share memory.
        let commons = if wire.is_none() { self.commons(free).unwrap_or_default() } else { Vec::new() };
        let (mut scratch, subnormals, turns) = (Scratch::new(each), Subnormals::default(), Arc::default());
        if let Some(wire) = &wire {
            scratch.meet(&**wire, &self.sites()).map_err(|e| device_failed(Span::default(), e))?;
        }
        let fast_sums = false;
        Ok(Session { executable: self, ids, held, arenas, commons, wire, scratch, subnormals, turns, fast_sums })
    }

    /// Returns the bytes of the devices' results outside of their arenas. A shard that several devices hold counts
    /// once.
    pub fn result_bytes(&self, held: &Range<usize>) -> u64 {
        self.requirements.result_bytes(held)
    }

    /// Returns the collectives, each with whether every device runs it exactly once: it is outside of loops and
    /// branches.
    fn sites(&self) -> Vec<(Site, bool)> {
        let mut sites: Vec<(Site, bool)> = self.lowered.collectives.iter().map(|plan| (plan.site(), false)).collect();
        for (_, step) in &self.lowered.steps {
            if let Step::Collective { collective, .. } | Step::Ragged { collective, .. } = step {
                sites[*collective].1 = true;
            }
        }
        sites
    }

    /// Allocates the memory that groups of devices share; `None` if there isn't enough memory.
    fn commons(&self, free: Option<u64>) -> Option<Vec<Vec<Arena>>> {
        let commons = &self.lowered.commons;
        let needed = commons.iter().map(Common::all_bytes);
        if free.is_some_and(|free| needed.fold(0, u64::saturating_add) > free) {
            return None;
        }
        commons.iter().map(|c| (0..c.groups()).map(|_| Arena::new(c.bytes)).collect()).collect()
    }

    pub(super) fn slot(&self, slot: Slot) -> &SlotData {
        &self.lowered.slots[slot]
    }
}

impl Session<'_> {
    /// Returns this session with this treatment of subnormal floats in all runs.
    pub fn with_subnormals(self, subnormals: Subnormals) -> Self {
        Self { subnormals, ..self }
    }

    /// Returns this session with `turns` as the counter of the loop iterations that the first device starts.
    pub fn with_turns(self, turns: Arc<AtomicU64>) -> Self {
        Self { turns, ..self }
    }

    /// Returns this session. With `fast_sums`, sums between processes may be in any order, so that their bits depend on
    /// the number of processes.
    pub fn with_fast_sums(self, fast_sums: bool) -> Self {
        Self { fast_sums, ..self }
    }

    /// Shards the global inputs and writes every device's shards to its memory. Every replica gets the same inputs.
    pub fn set_inputs(&self, inputs: &[Literal]) -> Result<(), String> {
        (0..self.executable.replicas()).try_for_each(|replica| self.set_inputs_of(replica, inputs))
    }

    /// Shards the global inputs of one replica and writes its devices' shards to their memory.
    pub fn set_inputs_of(&self, replica: usize, inputs: &[Literal]) -> Result<(), String> {
        let e = self.executable;
        if inputs.len() != e.requirements.arguments.len() {
            return Err(format!(
                "the program takes {} arguments, but {} are given",
                e.requirements.arguments.len(),
                inputs.len()
            ));
        }
        for (i, (input, layout)) in inputs.iter().zip(&e.requirements.arguments).enumerate() {
            if input.ty() != layout.ty {
                return Err(format!("argument {i} is {:?}, but {:?} is given", layout.ty, input.ty()));
            }
        }
        self.set_pieces(replica, |i, start, sizes| inputs[i].piece(start, sizes));
        Ok(())
    }

    /// Writes the shards of those devices of one replica that this process runs. `piece` returns the part of an
    /// argument, given by its number, from `start` on with these sizes.
    pub fn set_pieces(&self, replica: usize, piece: impl Fn(usize, &[i64], &[i64]) -> Literal) {
        let (e, partitions) = (self.executable, self.executable.requirements.partitions);
        for (i, layout) in e.requirements.arguments.iter().enumerate() {
            let slot = e.slot(e.lowered.arguments[i]);
            let mut written: FxHashSet<*const Arena> = FxHashSet::default();
            for device in self.held.clone().filter(|device| device / partitions == replica) {
                let (memory, partition) = (self.memory(slot, device), device % partitions);
                // Devices that share an argument's memory have the same shard of it.
                if !written.insert(memory) {
                    continue;
                }
                if !layout.has(partition) {
                    memory.zero(slot.offset, slot.bytes);
                    continue;
                }
                let shard = layout.shard_from(partition, |start, sizes| piece(i, start, sizes));
                memory.write_literal(slot.offset, &shard);
            }
        }
    }

    /// Runs the program once on all devices. An error names the device that failed first, and the op.
    pub fn run(&self) -> Result<(), Diagnostic> {
        self.run_on_devices(|| None).map(drop)
    }

    /// Does the same as [`Self::run`], and returns the timed events of each device.
    pub fn run_traced(&self) -> Result<Vec<Track>, Diagnostic> {
        let begin = Instant::now();
        self.run_on_devices(|| Some(Recorder::new(begin)))
    }

    fn run_on_devices(&self, recorder: impl Fn() -> Option<Recorder>) -> Result<Vec<Track>, Diagnostic> {
        let sites: Vec<Site> = self.executable.lowered.collectives.iter().map(Plan::site).collect();
        let transport = match &self.wire {
            None => Between::Threads(Shared::on(self.ids.clone(), &sites)),
            Some(wire) => {
                let ranks = Ranks::new(&**wire, self.ids.clone(), &sites, &self.scratch);
                let ranks = ranks.map_err(|e| device_failed(Span::default(), e))?;
                Between::Ranks(ranks.with_fast_sums(self.fast_sums))
            }
        };
        let transport = &transport;
        let first = self.held.start;
        let devices = 0..self.arenas.len();
        let recorders: Vec<_> = devices.clone().map(|_| Mutex::new(Some(recorder()))).collect();
        let results: Mutex<BTreeMap<usize, Result<Track, Fault>>> = Mutex::default();
        let ended = |device: usize, result| {
            results.lock().unwrap_or_else(PoisonError::into_inner).insert(device, result);
        };
        let packings = self.packings();
        let work = |device: usize| {
            let recorder = recorders[device].lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(recorder) = recorder {
                let (session, transport, packings) = (self, transport.as_dyn(), &packings[..]);
                ended(device, Device { session, transport, device: first + device, recorder, packings }.main());
            }
        };
        let missing = |device: usize, error: std::io::Error| {
            // The running devices must not wait for a device that will never start.
            transport.as_dyn().leave(first + device, Some("its thread can't be started"));
            ended(device, Err(format!("the thread of a device can't be started: {error}").into()));
        };
        threads::all_at_once(devices.len(), &work, &missing);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The device that failed first reports the op; the others report only that it failed.
        let (mut tracks, mut faults) = (Vec::new(), Vec::new());
        for device in devices {
            let stopped = || Err("a device stopped unexpectedly".to_owned().into());
            match results.remove(&device).unwrap_or_else(stopped) {
                Ok(track) => tracks.push(track),
                Err(fault) => faults.push((device, fault)),
            }
        }
        let Some((device, fault)) = faults.iter().find(|f| f.1.span.is_some()).or(faults.first()) else {
            return Ok(tracks);
        };
        let (code, message) = match fault.span {
            Some(_) if self.ids.len() > 1 => {
                (codes::DEVICE_FAILED, format!("device {} failed: {}", self.ids[first + *device], fault.message))
            }
            Some(_) => (codes::EVALUATION, fault.message.clone()),
            None => (codes::DEVICE_FAILED, fault.message.clone()),
        };
        let mut diagnostic = Diagnostic::error(code, fault.span.unwrap_or_default(), message);
        // Of the devices that wait forever, shows the first at each collective.
        let mut seen: Vec<Op> = Vec::new();
        for (id, site) in transport.stuck() {
            let op = self.executable.lowered.collective_ops[site];
            let span = self.executable.program.op(op).span;
            if !seen.contains(&op) && !span.is_empty() && seen.len() < MAX_SHOWN {
                diagnostic = diagnostic.also(span, format!("device {id} waits here"));
                seen.push(op);
            }
        }
        Err(diagnostic)
    }

    /// Returns the state of the panels that groups share, none of which are made yet; empty without shared memory.
    fn packings(&self) -> Vec<Vec<Packing>> {
        let lowered = &self.executable.lowered;
        let of = |panels: &SharedPanels| {
            let groups = self.commons.get(panels.common).map_or(0, Vec::len);
            let pieces = lowered.products[panels.product].pieces();
            (0..groups).map(|_| Packing::of(pieces)).collect()
        };
        lowered.shared_panels.iter().map(of).collect()
    }

    /// Assembles the global results from the shards of the first replica's devices.
    pub fn results(&self) -> Vec<Literal> {
        self.results_of(0)
    }

    /// Assembles the global results from the shards of one replica's devices.
    pub fn results_of(&self, replica: usize) -> Vec<Literal> {
        let e = self.executable;
        let result = |(i, layout): (usize, &Layout)| {
            let first = replica * e.requirements.partitions;
            layout.assemble_from(0..e.requirements.partitions, |partition| self.result(i, first + partition))
        };
        e.requirements.results.iter().enumerate().map(result).collect()
    }

    /// Returns a device's shard of result `i`; zeros if another process runs the device.
    pub fn result(&self, i: usize, device: usize) -> Literal {
        let slot = self.executable.slot(self.executable.lowered.results[i]);
        let bytes = match self.held.contains(&device) {
            true => self.memory(slot, device).read(slot.offset, slot.bytes),
            false => vec![0; slot.bytes],
        };
        Literal::from_bytes(slot.element, &slot.shape, bytes)
    }

    /// Returns the layouts of the results on the devices of a replica.
    pub fn result_layouts(&self) -> &[Layout] {
        &self.executable.requirements.results
    }

    /// Returns the layouts of the arguments on the devices of a replica.
    pub fn argument_layouts(&self) -> &[Layout] {
        &self.executable.requirements.arguments
    }

    /// Returns the devices that this process runs, of all replicas.
    pub fn held(&self) -> Range<usize> {
        self.held.clone()
    }

    /// Returns the bytes that this process has sent to others in all runs.
    pub fn sent(&self) -> u64 {
        self.scratch.sent()
    }

    /// Returns the memory of a slot of a device that this process runs: the device's, or its group's.
    pub(super) fn memory(&self, slot: &SlotData, device: usize) -> &Arena {
        let common = |i: usize| self.commons.get(i)?.get(self.executable.lowered.commons[i].group[device]);
        slot.common.and_then(common).unwrap_or(&self.arenas[device - self.held.start])
    }
}

fn device_failed(span: Span, message: String) -> Diagnostic {
    Diagnostic::error(codes::DEVICE_FAILED, span, message)
}

/// The transport between devices.
enum Between<'s> {
    /// All devices are threads of this process.
    Threads(Shared),
    /// Other processes run some of the devices.
    Ranks(Ranks<'s>),
}

impl Between<'_> {
    fn as_dyn(&self) -> &dyn Transport {
        match self {
            Between::Threads(shared) => shared,
            Between::Ranks(ranks) => ranks,
        }
    }

    fn stuck(&self) -> Vec<(u32, usize)> {
        match self {
            Between::Threads(shared) => shared.stuck(),
            Between::Ranks(ranks) => ranks.stuck(),
        }
    }
}
