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
            name: "several-operands",
            ty: OptionType::Bool,
            default: "true",
            doc: "Let a collective have several operands; XLA takes none of those inside a manual computation, and joins them itself.",
        },
    ],
    run: |program, options, diagnostics| {
        if program.attr(program.module, dialect::ops::mpmd::ORDERED).is_some() {
            // Joining what two microbatches send would make one wait for the other.
            return;
        }
        if let Some((machine, _)) = options.machine(program, diagnostics) {
            schedule(program, &machine, options.flag("several-operands"));
        }
    },
};

/// Schedules `program` for `machine`; `several_operands` says whether a collective may have more than one operand.
fn schedule(program: &mut Program, machine: &Machine, several_operands: bool) {
    if !machine.overlaps_communication() {
        // Without overlap everything runs in sequence, so what saves latency saves time.
        combine(program, machine, several_operands);
        return;
    }
    // A combined collective waits for its last operand, and may be hidden less than each alone.
    let mut combined = program.clone();
    if combine(&mut combined, machine, several_operands)
        && estimate(&combined, machine).step_seconds <= estimate(program, machine).step_seconds
    {
        *program = combined;
    }
}

/// Combines collectives where it pays; returns whether any were.
fn combine(program: &mut Program, machine: &Machine, several_operands: bool) -> bool {
    let combined = combine::combine(program, machine, several_operands);
    permutes::join(program, machine) || combined
}
