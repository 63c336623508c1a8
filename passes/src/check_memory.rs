//! check-memory: says where the modelled peak of a per-device program is more than a device holds.
//!
//! Assumes a per-device program; leaves it as it is. The peak is that of the buffers a device would have, as `cost`
//! prints it.

use dialect::buffers::{Buffers, simplify};
use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Severity};
use dialect::ir::Program;
use dialect::ops::func;

use crate::compile_options::{Field, MEMORY, OverMemory, TARGET};
use crate::estimate::Machine;
use crate::mpmd::Pipeline;
use crate::options::{OptionDef, Options};
use crate::pass::{Effect, Pass};
use crate::units;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "check-memory",
    doc: "Reports a per-device program whose modelled peak memory exceeds a device's memory.",
    effect: Effect::Report,
    options: &[
        OptionDef { doc: "The machine whose memory is the limit; the flat model has no limit.", ..TARGET },
        MEMORY,
        OVER_MEMORY,
    ],
    run: |program, options, diagnostics| {
        let severity = match options.compile.over_memory {
            OverMemory::Allow => return,
            OverMemory::Warn => Severity::Warning,
            OverMemory::Deny => Severity::Error,
        };
        let Some((machine, _)) = options.machine(program, diagnostics) else { return };
        // Of a pipeline over several meshes mpmd-schedule has asked: the program has the values of all of them.
        if Pipeline::of(program).is_some() {
            return;
        }
        if let Some(limit) = options.memory_limit(&machine) {
            check(program, options, &machine, limit, severity, diagnostics);
        }
    },
};

/// What is said of a program that needs more memory than there is.
pub(crate) const OVER_MEMORY: OptionDef = OptionDef::field(
    "over-memory",
    Field::OverMemory,
    "warn",
    "Whether a program that exceeds the limit is a warning, an error, or neither.",
);

fn check(
    program: &Program,
    options: &Options,
    machine: &Machine,
    limit: u64,
    severity: Severity,
    diagnostics: &mut Diagnostics,
) {
    let Some(main) = func::function(program, "main") else { return };
    let held = held(program);
    if held <= limit {
        return;
    }
    let whose = match options.compile.memory {
        Some(_) => "that --memory allows".to_owned(),
        None => format!("of a device of {}", machine.target()),
    };
    let sizes = [held, limit].map(|bytes| units::bytes(bytes as f64));
    let message = format!("a device needs up to {} of memory, more than the {} {whose}", sizes[0], sizes[1]);
    let d = Diagnostic { severity, ..Diagnostic::error(codes::MEMORY_EXCEEDED, program.op(main).span, message) };
    diagnostics
        .push(d.note("shard arguments and results over more devices, because no plan was found that needs less"));
}

/// Bytes that a device holds in its own memory at once.
fn held(program: &Program) -> u64 {
    let mut simple = program.clone();
    let Some(main) = func::function(&simple, "main") else { return 0 };
    if let Some(block) = func::block(&simple, main) {
        simplify(&mut simple, block);
    }
    Buffers::of(&simple, main).device_bytes as u64
}
