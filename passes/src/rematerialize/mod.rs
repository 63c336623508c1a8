//! rematerialize: makes values again, just before they are read late, where holding them in between takes more memory than a
//! device has ("rematerialization": Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//!
//! Assumes what `partition` leaves. Leaves the same results, bit for bit. Weights are gathered again, elementwise values and
//! products computed again, those first that cost the least seconds for the bytes that are free in between. Memory is that
//! of the buffers a device would have, as `cost` prints it. A program that fits stays as it is.

mod again;
mod held;

use dialect::ir::{Op, Program};
use dialect::ops::{func, mpmd};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::estimate::{Machine, estimate};
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
        // Where there are several meshes, each has been looked at alone.
        if program.attr(program.module, mpmd::ORDERED).is_some() {
            return;
        }
        let Some((machine, _)) = options.machine(program, diagnostics) else { return };
        if let Some(limit) = options.memory_limit(&machine) {
            fit(program, &machine, limit);
        }
    },
};

/// How often values are chosen, each time by the memory that is left then.
const ROUNDS: usize = 64;

/// Makes values again until a device holds at most `limit` bytes, or as little as is found.
fn fit(program: &mut Program, machine: &Machine, limit: u64) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(mut held) = Held::of(program, main) else { return };
    let mut bytes = held.bytes;
    if bytes <= limit {
        return;
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
