//! Compiles a lowered program, and runs it with one thread per device.

mod device;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use dialect::ir::{Op, Program};
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::sharding::Layout;
use rustc_hash::FxHashSet;

use device::{Device, Fault};

use super::arith::Math;
use super::common::Common;
use super::emit::Target;
use super::lower::{KERNEL, Lowered, SharedKernel, lower};
use super::memory::Arena;
use super::room::{Planned, Room};
use super::shared::{Packing, SharedPanels};
use super::step::{Slot, SlotData, Step};
use super::trace::{Recorder, Track};
use super::tuning::Tuning;
use crate::collective::{Plan, Ranks, Scratch, Shared, Site, Transport, Wire};
use crate::jit::{Cache, Engine, KernelFn, vector_bytes};
use crate::rates;
use crate::subnormals::Subnormals;
use crate::threads;

/// A compiled per-device program: code and plan, shared by all devices.
pub struct Executable {
    program: Arc<Program>,
    lowered: Lowered,
    kernels: Vec<KernelFn>,
    room: Room,
    /// The maximum number of threads that one device uses inside an op.
    threads: usize,
}

/// The memory of all devices, with their inputs.
pub struct Session<'e> {
    executable: &'e Executable,
    /// The device numbers used in messages.
    ids: Vec<u32>,
    /// The devices that this process runs.
    held: Range<usize>,
    /// The memory of the devices of this process.
    arenas: Vec<Arena>,
    /// For each of [`Lowered::commons`], the memory of each group of devices; empty if there isn't enough memory.
    commons: Vec<Vec<Arena>>,
    /// The connection to other processes, if they run some of the devices.
    wire: Option<Arc<dyn Wire>>,
    scratch: Scratch,
    subnormals: Subnormals,
    /// The number of loop iterations that the first device has started.
    turns: Arc<AtomicU64>,
    /// Whether sums between processes may be in any order.
    fast_sums: bool,
}

/// The maximum number of collectives shown at which devices wait forever.
const MAX_SHOWN: usize = 4;

/// The maximum number of devices that run natively, because systems limit the threads of a process, and the mappings of
/// their stacks.
const MAX_THREADS: usize = 16_384;

impl Executable {
    /// Compiles a program that `partition` has written, or an unpartitioned one that needs only one device.
    ///
    /// Kernels that are in `cache` are read from it; the others are compiled and added to it.
    pub fn compile(program: Program, cache: Option<&Cache>) -> Result<Self, Diagnostic> {
        Self::compile_with(program, cache, Math::Fast, None)
    }

    /// Does the same as [`Executable::compile`], with this implementation of elementary functions. `here` is the number
    /// of the program's devices that this machine runs; `None` means all of them.
    pub fn compile_with(
        program: Program,
        cache: Option<&Cache>,
        math: Math,
        here: Option<usize>,
    ) -> Result<Self, Diagnostic> {
        Self::compile_planned(Planned::of(program)?, cache, math, here)
    }

    /// Does the same for a program whose memory is planned.
    pub fn compile_planned(
        planned: Planned,
        cache: Option<&Cache>,
        math: Math,
        here: Option<usize>,
    ) -> Result<Self, Diagnostic> {
        let threads = (rates::cores() / here.unwrap_or(planned.room.devices)).max(1);
        let target = Target { threads, math, vector_bytes: vector_bytes(), tuning: Tuning::SHIPPED };
        Self::compile_for(planned, cache, target)
    }

    /// Does the same for this target.
    fn compile_for(planned: Planned, cache: Option<&Cache>, target: Target) -> Result<Self, Diagnostic> {
        let Planned { program, block, buffers, mut room, written } = planned;
        let mut lowered = lower(&program, &buffers, block, (&room.arguments, room.devices), target)?;
        room.grow(lowered.bytes);
        let kernels = compile_kernels(&lowered.kernels, cache).map_err(|e| {
            let message = format!("no native code for a kernel: {e}");
            Diagnostic::error(codes::NATIVE_COMPILATION, Span::default(), message)
        })?;
        lowered.link(&kernels);
        lowered.name(&written);
        Ok(Self { program: Arc::new(program), lowered, kernels, room, threads: target.threads })
    }

    /// Compiles a program so that small tensors have chains and share memory.
    #[cfg(test)]
    pub(super) fn compile_small(program: Program) -> Result<Self, Diagnostic> {
        let planned = Planned::of(program)?;
        let threads = (rates::cores() / planned.room.devices).max(1);
        let target = Target { threads, math: Math::Fast, vector_bytes: vector_bytes(), tuning: Tuning::SMALL };
        Self::compile_for(planned, None, target)
    }

    /// Returns the MLIR text of all kernels.
    pub fn kernel_text(&self) -> String {
        self.kernel_texts().collect()
    }

    /// Returns the MLIR text of each kernel.
    pub fn kernel_texts(&self) -> impl ExactSizeIterator<Item = String> {
        self.lowered.kernels.iter().enumerate().map(|(i, text)| rename(text, &format!("k{i}")))
    }

    /// Returns the other ops of the kernel that a step of `op` runs, if the kernel has several ops.
    pub fn shared_kernel(&self, op: Op) -> Option<&SharedKernel> {
        self.lowered.shared.get(&op)
    }

    /// Returns the steps of each device.
    #[cfg(test)]
    pub(super) fn lowered_steps(&self) -> &super::step::Steps {
        &self.lowered.steps
    }

    /// Returns the memory that groups of devices share.
    #[cfg(test)]
    pub(super) fn lowered_commons(&self) -> &[Common] {
        &self.lowered.commons
    }

    /// Returns, for each argument, the number of groups of devices that share it.
    #[cfg(test)]
    pub(super) fn lowered_arguments(&self) -> Vec<Option<usize>> {
        let groups = |&slot: &Slot| Some(self.lowered.commons[self.slot(slot).common?].groups());
        self.lowered.arguments.iter().map(groups).collect()
    }

    /// Returns the number of right operands with shared panels.
    #[cfg(test)]
    pub(super) fn shared_panels(&self) -> usize {
        self.lowered.shared_panels.len()
    }

    /// Returns the number of devices, of all replicas together.
    pub fn devices(&self) -> usize {
        self.room.devices
    }

    /// Returns the number of replicas.
    pub fn replicas(&self) -> usize {
        self.room.devices / self.room.partitions
    }

    /// Returns the program that it runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns whether a call leaves its arguments in memory for the next call. It may overwrite donated arguments.
    pub fn keeps_arguments(&self) -> bool {
        let donates = |main: Op| {
            let block = func::block(&self.program, main);
            let count = block.map_or(0, |block| self.program.block_args(block).len());
            (0..count).any(|i| func::is_donated(&self.program, main, i))
        };
        !func::function(&self.program, "main").is_none_or(donates)
    }

    /// Returns the most bytes of memory that any device needs: its arena, without the values of other meshes than its
    /// own.
    pub fn arena_bytes(&self) -> usize {
        self.room.most() as usize
    }

    /// Returns the part of [`Self::arena_bytes`] that values take, which are planned alike on every machine. The rest
    /// is for panels of products and values that a chain moves.
    pub fn value_bytes(&self) -> usize {
        self.room.most_of_values() as usize
    }

    /// Allocates the memory of all devices, with constants in place.
    pub fn session(&self) -> Result<Session<'_>, Diagnostic> {
        self.session_on((0..self.room.devices as u32).collect())
    }

    /// Allocates the memory of devices with these numbers, one for each of the program's devices in order. Numbers are
    /// used in thread names and messages; the results don't depend on them.
    pub fn session_on(&self, ids: Vec<u32>) -> Result<Session<'_>, Diagnostic> {
        self.session_among(ids, None)
    }

    /// Does the same for devices that are divided evenly among the ranks of `wire`, in order: allocates the memory of
    /// this rank's devices.
    pub fn session_among(&self, ids: Vec<u32>, wire: Option<Arc<dyn Wire>>) -> Result<Session<'_>, Diagnostic> {
        let (rank, ranks) = wire.as_ref().map_or((0, 1), |wire| (wire.rank(), wire.ranks().max(1)));
        if !self.room.devices.is_multiple_of(ranks) {
            let message = format!("{} devices can't be divided among {ranks} ranks", self.room.devices);
            return Err(Diagnostic::error(codes::DEVICE_NUMBERS, Default::default(), message));
        }
        let each = self.room.devices / ranks;
        let held = rank * each..(rank + 1) * each;
        if ids.len() != self.room.devices {
            let message = format!("the program runs on {} devices, but {} are named", self.room.devices, ids.len());
            return Err(Diagnostic::error(codes::DEVICE_NUMBERS, Default::default(), message));
        }
        if each > MAX_THREADS {
            let message = format!("{each} devices need as many threads, more than the limit of {MAX_THREADS}");
            return Err(Diagnostic::error(codes::NO_NATIVE_FORM, Default::default(), message)
                .note("add --interpret: the reference evaluator runs any number of devices"));
        }
        let free = self.room.fits(&self.program, &held, 0)?;
        let arenas = held.clone().map(|_| Arena::new(self.room.arena_bytes)).collect::<Option<Vec<Arena>>>();
        let arenas = arenas.ok_or_else(|| self.room.does_not_fit(&self.program, &held, None))?;
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
        self.room.result_bytes(held)
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

    fn slot(&self, slot: Slot) -> &SlotData {
        &self.lowered.slots[slot]
    }
}

/// Compiles kernels under names that are hashes of their text: a kernel's code is cached by its text, which contains
/// its name.
fn compile_kernels(kernels: &[String], cache: Option<&Cache>) -> Result<Vec<KernelFn>, String> {
    let name = |text: &String| {
        let half = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, text).hash(&mut hasher);
            hasher.finish()
        };
        format!("k{:016x}{:016x}", half(0), half(1))
    };
    let names: Vec<String> = kernels.iter().map(name).collect();
    let texts: Vec<String> = kernels.iter().zip(&names).map(|(text, name)| rename(text, name)).collect();
    let module = Engine::new()?.compile_all(&texts, cache)?;
    let kernel = |name: &String| module.function(name).ok_or_else(|| format!("kernel {name} was not compiled"));
    names.iter().map(kernel).collect()
}

/// Returns the text of a kernel under another name.
fn rename(text: &str, name: &str) -> String {
    text.replacen(&format!("@{KERNEL}("), &format!("@{name}("), 1)
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
        if inputs.len() != e.room.arguments.len() {
            return Err(format!(
                "the program takes {} arguments, but {} are given",
                e.room.arguments.len(),
                inputs.len()
            ));
        }
        for (i, (input, layout)) in inputs.iter().zip(&e.room.arguments).enumerate() {
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
        let (e, partitions) = (self.executable, self.executable.room.partitions);
        for (i, layout) in e.room.arguments.iter().enumerate() {
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
            let first = replica * e.room.partitions;
            layout.assemble_from(0..e.room.partitions, |partition| self.result(i, first + partition))
        };
        e.room.results.iter().enumerate().map(result).collect()
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
        &self.executable.room.results
    }

    /// Returns the layouts of the arguments on the devices of a replica.
    pub fn argument_layouts(&self) -> &[Layout] {
        &self.executable.room.arguments
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
    fn memory(&self, slot: &SlotData, device: usize) -> &Arena {
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
