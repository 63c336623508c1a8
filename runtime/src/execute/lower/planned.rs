//! The memory requirements of a program's devices, and the error if there isn't enough memory.

use std::ops::Range;

use dialect::buffers::{BufferId, Buffers, simplify};
use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use dialect::ir::{Block, Op, Program, Value, ValueSource};
use dialect::ops::func;
use dialect::sharding::Layout;
use dialect::signature::Signature;
use rustc_hash::FxHashMap;

use super::host::skip_effects;
use super::touched;
use crate::limits::{Available, available_memory};

/// The number of largest tensors that the error names.
const SHOWN: usize = 4;

/// A per-device program and the plan of its devices' memory, before code generation.
pub struct Planned {
    pub(in crate::execute) program: Program,
    pub(in crate::execute) block: Block,
    pub(in crate::execute) buffers: Buffers,
    pub(in crate::execute) requirements: Requirements,
    /// For each op of `program` that the original program doesn't have, the original op that it was generated from.
    pub(in crate::execute) written: FxHashMap<Op, Op>,
}

/// The memory that the devices of a program hold.
pub(in crate::execute) struct Requirements {
    /// The layouts of the arguments on the devices of a replica.
    pub(in crate::execute) arguments: Vec<Layout>,
    /// The layouts of the results on the devices of a replica.
    pub(in crate::execute) results: Vec<Layout>,
    /// Number of devices, of all replicas together.
    pub(in crate::execute) devices: usize,
    /// Number of devices of one replica. The devices of replica 0 come first, then those of replica 1, and so on.
    pub(in crate::execute) partitions: usize,
    /// Bytes of a device's arena.
    pub(in crate::execute) arena_bytes: usize,
    /// The bytes at the end of an arena that are no value's: panels, and values that a chain moves. They depend on the
    /// number of threads and the processor, in contrast to the plan of values.
    extra_bytes: usize,
    /// For each device, the bytes of its arena that it writes to; empty if all devices write to all of it.
    touched: Vec<u64>,
}

impl Planned {
    /// Plans the memory of a program that `partition` has written, or of an unpartitioned one that needs only one
    /// device.
    pub fn of(mut program: Program) -> Result<Self, Diagnostic> {
        let fault = |code, message: &str| Diagnostic::error(code, Span::default(), message.to_owned());
        let signature = Signature::of(&mut program).ok_or_else(|| {
            fault(codes::NO_GLOBAL_TYPES, "@main doesn't state its global types").note("run the pass partition first")
        })?;
        let main = func::function(&program, "main")
            .ok_or_else(|| fault(codes::NO_MAIN, "the module has no function @main"))?;
        let block =
            func::block(&program, main).ok_or_else(|| fault(codes::FUNCTION_WITHOUT_BODY, "@main has no body"))?;
        skip_effects(&mut program, block);
        let written = simplify(&mut program, block);
        let partitions = func::num_partitions(&program).max(1) as usize;
        let devices = partitions * func::num_replicas(&program).max(1) as usize;
        let buffers = Buffers::of(&program, main);
        let arguments: Vec<Layout> = signature.arguments.iter().map(|s| signature.layout(s)).collect();
        let results = signature.results.iter().map(|s| signature.layout(s)).collect();
        let (arena_bytes, touched) = (buffers.bytes(), Vec::new());
        let mut requirements =
            Requirements { arguments, results, devices, partitions, arena_bytes, extra_bytes: 0, touched };
        requirements.touched = touched::bytes(&program, block, &buffers, &requirements);
        Ok(Self { program, block, buffers, requirements, written })
    }

    /// Checks that there is memory for all devices in addition to the global arguments, which will take `arguments`
    /// bytes. Returns the error of [`Executable::session`](crate::execute::Executable::session) otherwise.
    pub fn fits(&self, arguments: u64) -> Result<(), Diagnostic> {
        self.requirements.fits(&self.program, &(0..self.requirements.devices), arguments).map(drop)
    }
}

impl Requirements {
    /// Enlarges the arenas to `arena_bytes`, for panels and other data after the plan of a device's memory.
    pub(in crate::execute) fn grow(&mut self, arena_bytes: usize) {
        self.extra_bytes = arena_bytes - self.arena_bytes;
        self.arena_bytes = arena_bytes;
        self.touched.iter_mut().for_each(|bytes| *bytes += self.extra_bytes as u64);
    }

    /// Returns the bytes that a device needs.
    fn of(&self, device: usize) -> u64 {
        self.touched.get(device).copied().unwrap_or(self.arena_bytes as u64)
    }

    /// Returns the most bytes that any device needs.
    pub(in crate::execute) fn most(&self) -> u64 {
        self.touched.iter().copied().max().unwrap_or(self.arena_bytes as u64)
    }

    /// Returns the most bytes that the values of any device need.
    pub(in crate::execute) fn most_of_values(&self) -> u64 {
        self.most() - self.extra_bytes as u64
    }

    /// Returns the bytes that remain after these devices have their memory, the global arguments have `arguments`
    /// bytes, and the results have theirs; `None` if the available memory is unknown. Fails if there isn't enough
    /// memory.
    pub(in crate::execute) fn fits(
        &self,
        program: &Program,
        held: &Range<usize>,
        arguments: u64,
    ) -> Result<Option<u64>, Diagnostic> {
        let needed = held.clone().map(|device| self.of(device)).fold(self.result_bytes(held), u64::saturating_add);
        // Systems grant more memory than they have, so this check is needed in addition to failing allocations.
        let Some(free) = available_memory() else { return Ok(None) };
        let free = Available { bytes: free.bytes.saturating_sub(arguments), ..free };
        match free.bytes.checked_sub(needed) {
            None => Err(self.does_not_fit(program, held, Some(free))),
            left => Ok(left),
        }
    }

    /// Returns the bytes of the devices' results outside of their arenas. A shard that several devices hold counts
    /// once.
    pub(in crate::execute) fn result_bytes(&self, held: &Range<usize>) -> u64 {
        let of_result = |layout: &Layout| {
            let holders = layout.holders();
            let mine = held.clone().filter(|device| holders.binary_search(&(device % self.partitions)).is_ok());
            (mine.count() as u64).saturating_mul(layout.local_type().bytes().unwrap_or(usize::MAX) as u64)
        };
        self.results.iter().map(of_result).fold(0, u64::saturating_add)
    }

    /// Returns the error for a program whose devices need more memory than is available. Names the largest tensors that
    /// a device holds when its memory use peaks.
    pub(in crate::execute) fn does_not_fit(
        &self,
        program: &Program,
        held: &Range<usize>,
        free: Option<Available>,
    ) -> Diagnostic {
        let results = self.result_bytes(held);
        let all = held.clone().map(|device| self.of(device)).fold(0, u64::saturating_add);
        let most = held.clone().map(|device| self.of(device)).max().unwrap_or(0);
        let there =
            free.map(|free| format!("; {} of memory are available{free}", text(free.bytes))).unwrap_or_default();
        let each = text(most);
        let and =
            if results > all / 50 { format!(", and the merged results {}", text(results)) } else { String::new() };
        let up_to = if self.touched.is_empty() { "" } else { "up to " };
        let message = match held.len() {
            1 => format!("the program's tensors take {each} of memory{and}{there}"),
            devices => format!(
                "the program's tensors take {} of memory, {up_to}{each} on each of {devices} devices{and}{there}",
                text(all)
            ),
        };
        let mut error = Diagnostic::error(codes::DEVICE_MEMORY, Span::default(), message);
        for (value, bytes) in largest(program) {
            let ty = program.type_text(program.value_type(value));
            let (op, span, loc) = match program.value_source(value) {
                ValueSource::Result(op, _) => (program.op_name(op), program.op(op).span, program.op(op).loc),
                ValueSource::Arg(..) => ("an argument", program.value_span(value), program.value_loc(value)),
            };
            // The source line is shown anyway.
            let frame = program.user_frame(loc).filter(|frame| !frame.of_text);
            let place = frame.map(|frame| format!(" ({}:{})", frame.file, frame.line)).unwrap_or_default();
            let line = format!("{}: {op} {ty}{place}", text(bytes));
            error = if span.is_empty() { error.note(line) } else { error.also(span, line) };
        }
        error.note(
            "the tensors shown take most of a device's memory; use smaller tensors, a machine with more memory, or \
            fewer devices",
        )
    }
}

/// Returns the largest tensors that are live when a device's memory use peaks, each with its bytes.
fn largest(program: &Program) -> Vec<(Value, u64)> {
    let Some(main) = func::function(program, "main") else { return Vec::new() };
    let plan = Buffers::of(program, main);
    // The change of memory use when a buffer becomes live, and after it was last live.
    let mut changes: Vec<(u32, i128)> = Vec::new();
    for buffer in &plan.buffers {
        changes.push((buffer.live.0, buffer.bytes as i128));
        changes.push((buffer.live.1 + 1, -(buffer.bytes as i128)));
    }
    changes.sort_unstable();
    let (mut held, mut most, mut peak) = (0, 0, 0);
    for (step, change) in changes {
        held += change;
        if held > most {
            (most, peak) = (held, step);
        }
    }
    // The first value in a buffer represents the buffer.
    let mut values: Vec<(BufferId, Value)> = plan.of_value.iter().map(|(&value, &buffer)| (buffer, value)).collect();
    values.sort_unstable();
    values.dedup_by_key(|entry| entry.0);
    let alive = |&(id, value): &(BufferId, Value)| {
        let buffer = plan.buffer(id);
        (buffer.live.0 <= peak && peak <= buffer.live.1).then_some((value, buffer.bytes as u64))
    };
    let mut alive: Vec<(Value, u64)> = values.iter().filter_map(alive).collect();
    alive.sort_by_key(|&(value, bytes)| (std::cmp::Reverse(bytes), value));
    alive.truncate(SHOWN);
    alive.retain(|entry| entry.1 as i128 > most / 50);
    alive
}

/// Formats a number of bytes for messages.
fn text(bytes: u64) -> String {
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}
