//! schedule: fixes the order in which the per-device program does things and writes it into the program.
//!
//! Assumes what `partition` leaves. Leaves the same results, bit for bit, with collectives that don't wait for each
//! other combined into one with several operands, and permutes between the same devices into one.

mod combine;
mod order;
mod pack;
mod permutes;

use dialect::ir::Program;

use crate::estimate::{Machine, estimate};
use crate::options::{OptionDef, OptionType};
use crate::pass::Pass;
use combine::Worth;

/// The pass.
pub static PASS: Pass = Pass {
    name: "schedule",
    doc: "Send collectives that don't wait for each other together, as one collective of several operands.",
    options: &[
        OptionDef {
            name: "target",
            ty: OptionType::Text,
            default: "flat",
            doc: "The slice of TPUs whose latencies and bandwidths say what it saves.",
        },
        OptionDef {
            name: "memory",
            ty: OptionType::Bytes,
            default: "",
            doc: "What a device may hold at once, since what is sent together is held together; the target's memory without it.",
        },
        OptionDef {
            name: "several-operands",
            ty: OptionType::Bool,
            default: "true",
            doc: "Let a collective have several operands; XLA takes none of those inside a manual computation, and joins them itself.",
        },
        OptionDef {
            name: "pack",
            ty: OptionType::Bool,
            default: "true",
            doc: "Pack reduce_scatters into one, which copies; XLA joins them without, and has fewer kernels to compile.",
        },
    ],
    run: |program, options, diagnostics| {
        if program.attr(program.module, dialect::ops::mpmd::ORDERED).is_some() {
            // Joining what two microbatches send would make one wait for the other.
            return;
        }
        if let Some((machine, _)) = options.machine(program, diagnostics) {
            let forms = Forms { several_operands: options.flag("several-operands"), packed: options.flag("pack") };
            let memory = options.memory_limit(&machine);
            schedule(program, &machine, forms, memory.map(|bytes| bytes as f64));
        }
    },
};

/// What a combined collective may look like.
#[derive(Clone, Copy)]
struct Forms {
    /// One with several operands.
    several_operands: bool,
    /// One with an operand that others are packed into.
    packed: bool,
}

/// A combined collective has at most this many bytes of operands and results: all of it is alive at once. The smaller ones
/// are tried where a device would hold more than it may.
const LARGEST: [u64; 4] = [64 << 20, 8 << 20, 1 << 20, 1 << 17];

/// Schedules `program` for `machine`, of which a device may hold `memory` bytes.
fn schedule(program: &mut Program, machine: &Machine, forms: Forms, memory: Option<f64>) {
    let combine = |program: &mut Program, largest: u64| {
        let any = combine::combine(program, &Worth { machine, largest }, forms);
        permutes::join(program, machine) || any
    };
    if memory.is_none() && !machine.overlaps_communication() {
        // Without overlap everything runs in sequence, so what saves latency saves time.
        combine(program, LARGEST[0]);
        return;
    }
    let mut before = None;
    for &largest in if memory.is_some() { &LARGEST[..] } else { &LARGEST[..1] } {
        let mut combined = program.clone();
        if !combine(&mut combined, largest) {
            return;
        }
        let (before, after) = (before.get_or_insert_with(|| estimate(program, machine)), estimate(&combined, machine));
        let fits = memory.is_none_or(|memory| after.peak_bytes <= memory.max(before.peak_bytes));
        if fits {
            // A combined collective waits for its last operand, and may be hidden less than each alone.
            if !machine.overlaps_communication() || after.step_seconds <= before.step_seconds {
                *program = combined;
            }
            return;
        }
    }
}
