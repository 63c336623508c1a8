//! schedule: chooses the order of the per-device program's ops and writes it into the program.
//!
//! Requires the program that `partition` leaves. Keeps the results, bit for bit; combines independent collectives into
//! one with several operands, and permutes between the same devices into one.

mod combine;
mod order;
mod pack;
mod permutes;

use dialect::ir::Program;

use crate::compile_options::{MEMORY, TARGET};
use crate::estimate::{Machine, estimate};
use crate::heuristics::HEURISTICS;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use combine::Worth;

/// The pass.
pub static PASS: Pass = Pass {
    name: "schedule",
    doc: "Merges independent collectives into one collective of several operands.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef { doc: "The slice of TPUs whose latencies and bandwidths determine the savings.", ..TARGET },
        OptionDef {
            doc: "The maximum memory of a device, because merged operands are live together; the target's memory by \
                default.",
            ..MEMORY
        },
        OptionDef::flag(
            "several-operands",
            true,
            "Allow collectives of several operands; XLA rejects those inside a manual computation, and merges them \
            itself.",
        ),
        OptionDef::flag(
            "pack",
            true,
            "Pack reduce_scatters into one, which copies; XLA merges them without copies, and has fewer kernels to \
            compile.",
        ),
    ],
    run: |program, options, diagnostics| {
        if program.attr(program.module, dialect::ops::mpmd::ORDERED).is_some() {
            // Merging the collectives of two microbatches would make one wait for the other.
            return;
        }
        if let Some((machine, _)) = options.machine(program, diagnostics) {
            let forms = Forms { several_operands: options.flag("several-operands"), packed: options.flag("pack") };
            let memory = options.memory_limit(&machine);
            schedule(program, &machine, forms, memory.map(|bytes| bytes as f64));
        }
    },
};

/// The allowed forms of a combined collective.
#[derive(Clone, Copy)]
struct Forms {
    /// A collective with several operands.
    several_operands: bool,
    /// A collective with one operand into which others are packed.
    packed: bool,
}

/// Schedules `program` for `machine`, where a device may hold `memory` bytes.
fn schedule(program: &mut Program, machine: &Machine, forms: Forms, memory: Option<f64>) {
    let combine = |program: &mut Program, largest: u64| {
        let any = combine::combine(program, &Worth { machine, largest }, forms);
        permutes::join(program, machine) || any
    };
    if memory.is_none() && !machine.overlaps_communication() {
        // Without overlap everything runs in sequence, so saved latency is saved time.
        combine(program, HEURISTICS.combined_bytes[0]);
        return;
    }
    let mut before = None;
    for &largest in if memory.is_some() { &HEURISTICS.combined_bytes[..] } else { &HEURISTICS.combined_bytes[..1] } {
        let mut combined = program.clone();
        if !combine(&mut combined, largest) {
            return;
        }
        let (before, after) = (before.get_or_insert_with(|| estimate(program, machine)), estimate(&combined, machine));
        let fits = memory.is_none_or(|memory| after.peak_bytes <= memory.max(before.peak_bytes));
        if fits {
            // A combined collective waits for its last operand, and may overlap less than its members would.
            if !machine.overlaps_communication() || after.step_seconds <= before.step_seconds {
                *program = combined;
            }
            return;
        }
    }
}
