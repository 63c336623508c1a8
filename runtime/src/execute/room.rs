//! What is said of a program that doesn't fit in memory.

use dialect::buffers::{BufferId, Buffers};
use dialect::codes;
use dialect::diagnostic::{Diagnostic, Span};
use dialect::ir::{Program, Value, ValueSource};
use dialect::ops::func;

use crate::files::available_memory;

/// How many of the largest tensors are named.
const SHOWN: usize = 4;

/// Whether there is memory for as many devices of a per-device program, beside the bytes of its global arguments and results:
/// otherwise the error that [`Executable::session`](super::Executable::session) gives, before anything is compiled or made.
pub fn fits(program: &Program, devices: usize, arguments: u64, results: u64) -> Result<(), Diagnostic> {
    let Some(main) = func::function(program, "main") else { return Ok(()) };
    let arena_bytes = Buffers::of(program, main).bytes;
    let needed = (arena_bytes as u64).saturating_mul(devices as u64).saturating_add(results);
    let free = available_memory().map(|free| free.saturating_sub(arguments));
    match free {
        Some(free) if needed > free => Err(does_not_fit(program, devices, arena_bytes, results, Some(free))),
        _ => Ok(()),
    }
}

/// The error for a program whose devices need more than there is. Names the largest tensors that a device holds at the time
/// when it holds the most. `results` are the bytes of the results put together, beside the devices' memory.
pub(super) fn does_not_fit(
    program: &Program,
    devices: usize,
    arena_bytes: usize,
    results: u64,
    free: Option<u64>,
) -> Diagnostic {
    let all = (arena_bytes as u64).saturating_mul(devices as u64);
    let there = free.map(|free| format!("; {} of memory are available", text(free))).unwrap_or_default();
    let each = text(arena_bytes as u64);
    let and =
        if results > all / 50 { format!(", and the results put together {}", text(results)) } else { String::new() };
    let message = match devices {
        1 => format!("the program's tensors take {each} of memory{and}{there}"),
        _ => format!(
            "the program's tensors take {} of memory, {each} on each of {devices} devices{and}{there}",
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
        // A line of the text is shown anyway.
        let frame = program.user_frame(loc).filter(|frame| !frame.of_text);
        let place = frame.map(|frame| format!(" ({}:{})", frame.file, frame.line)).unwrap_or_default();
        let line = format!("{}: {op} {ty}{place}", text(bytes));
        error = if span.is_empty() { error.note(line) } else { error.also(span, line) };
    }
    error.note("a device holds most of it in the tensors shown; use smaller ones, more of this machine's memory, or fewer devices")
}

/// The largest tensors that a device holds when it holds the most, each with its bytes.
fn largest(program: &Program) -> Vec<(Value, u64)> {
    let Some(main) = func::function(program, "main") else { return Vec::new() };
    let plan = Buffers::of(program, main);
    // What a buffer adds when it begins to be needed, and takes away after it was last needed.
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
    // The first value that lies in a buffer stands for it.
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

/// A number of bytes for people.
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
