//! rematerialize: makes values again, just before they are read late, where holding them in between takes more memory than a
//! device has ("rematerialization": Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//!
//! Assumes what `partition` leaves. Leaves the same results, bit for bit. Weights are gathered again, elementwise values and
//! products computed again, those first that cost the least seconds for the bytes that are free in between. Memory is that
//! of the buffers a device would have, as `cost` prints it. A program that fits stays as it is.

mod again;
mod held;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::{Op, Program};
use dialect::ops::{func, mpmd};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::estimate::{Machine, Target, estimate};
use crate::options::{OptionDef, OptionType};
use crate::pass::Pass;
use held::{Candidate, Held};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "rematerialize",
    doc: "Gather or compute values again before they are read late, where holding them takes too much memory.",
    options: &[
        OptionDef {
            name: "target",
            ty: OptionType::Text,
            default: "flat",
            doc: "The machine that says what making a value again costs.",
        },
        OptionDef {
            name: "memory",
            ty: OptionType::Bytes,
            default: "",
            doc: "What a device may hold at once; the memory of a target of chips without it.",
        },
    ],
    run: |program, options, diagnostics| {
        let Some(target) = options.target(diagnostics) else { return };
        let stated = options.bytes("memory");
        // The flat model is no machine whose memory could be exceeded.
        let is_asked = stated.is_some() || !matches!(target, Target::Flat(_));
        // Where there are several meshes, each has been looked at alone.
        if !is_asked || program.attr(program.module, mpmd::ORDERED).is_some() {
            return;
        }
        let Some((machine, _)) = options.machine(program, diagnostics) else { return };
        let limit = stated.unwrap_or(machine.memory_bytes());
        let bytes = fit(program, &machine, limit);
        if let Some(limit) = stated.filter(|&limit| bytes > limit) {
            warn(program, bytes, limit, diagnostics);
        }
    },
};

/// How often values are chosen, each time by the memory that is left then.
const ROUNDS: usize = 64;

/// Makes values again until a device holds at most `limit` bytes, or as little as is found; returns what it holds then.
fn fit(program: &mut Program, machine: &Machine, limit: u64) -> u64 {
    let Some(main) = func::function(program, "main") else { return 0 };
    let Some(mut held) = Held::of(program, main) else { return 0 };
    let mut bytes = held.bytes;
    if bytes <= limit {
        return bytes;
    }
    let mut trial = program.clone();
    for _ in 0..ROUNDS {
        let seconds = seconds(&trial, machine);
        let chosen = choose(&held, held.candidates(&trial, &seconds), limit);
        if chosen.is_empty() {
            break;
        }
        again::make(&mut trial, &held, &chosen);
        let before = held.most_needed();
        let Some(now) = Held::of(&trial, main) else { break };
        held = now;
        if held.bytes < bytes {
            bytes = held.bytes;
            *program = trial.clone();
        }
        if bytes <= limit || held.most_needed() > before {
            break;
        }
    }
    bytes
}

/// Seconds of each op, with what is computed in its kernel.
fn seconds(program: &Program, machine: &Machine) -> FxHashMap<Op, f64> {
    let mut seconds: FxHashMap<Op, f64> = FxHashMap::default();
    for event in estimate(program, machine).timeline {
        *seconds.entry(event.op).or_default() += event.seconds;
    }
    seconds
}

/// The cheapest for what they free, until enough is free at the step that needs most. None of them reads another, whose
/// price would then be another one.
fn choose(held: &Held, mut candidates: Vec<Candidate>, limit: u64) -> Vec<Candidate> {
    candidates.sort_by(|a, b| a.price().total_cmp(&b.price()).then(a.value.cmp(&b.value)));
    // Buffers don't lie without gaps.
    let needed = held.most_needed();
    let mut wanted = needed.saturating_sub((limit as f64 * (needed as f64 / held.bytes as f64)) as u64) as f64;
    let (mut made, mut read) = (FxHashSet::default(), FxHashSet::default());
    let mut chosen = Vec::new();
    for candidate in candidates {
        if wanted <= 0.0 {
            break;
        }
        if read.contains(&candidate.value) || candidate.reads.iter().any(|value| made.contains(value)) {
            continue;
        }
        made.insert(candidate.value);
        read.extend(candidate.reads.iter().copied());
        wanted -= candidate.freed;
        chosen.push(candidate);
    }
    chosen
}

fn warn(program: &Program, bytes: u64, limit: u64, diagnostics: &mut Diagnostics) {
    let Some(main) = func::function(program, "main") else { return };
    let message = format!("a device holds up to {bytes} bytes, more than the {limit} it may");
    let d = Diagnostic::warning(codes::MEMORY_EXCEEDED, program.op(main).span, message);
    diagnostics.push(d.note("shard arguments and results over more devices: no plan was found that holds less"));
}
