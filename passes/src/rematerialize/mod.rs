//! rematerialize: recomputes values just before their late users, where keeping them takes more memory than a device
//! has ("rematerialization": Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//!
//! Requires the program that `partition` leaves. Keeps the results, bit for bit. Weights are gathered again,
//! elementwise values and products computed again, first those that cost the fewest seconds per freed byte. Memory is
//! counted in the buffers that a device would have, as `cost` prints it. A program that fits isn't changed.

mod again;
mod held;

use dialect::ir::{Op, Program};
use dialect::ops::{func, mpmd};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::compile_options::{MEMORY, TARGET};
use crate::estimate::{Machine, estimate};
use crate::heuristics::HEURISTICS;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::variants::{Best, Figures};
use held::{Candidate, MemoryUse};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "rematerialize",
    doc: "Gathers or computes values again before a late use, where keeping them alive needs too much memory.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef { doc: "The machine that prices recomputing a value.", ..TARGET },
        OptionDef { doc: "The maximum memory of a device; the memory of the target's chips by default.", ..MEMORY },
    ],
    run: |program, options, diagnostics| {
        // With several meshes, the pass has already run on each alone.
        if program.attr(program.module, mpmd::ORDERED).is_some() {
            return;
        }
        let Some((machine, _)) = options.machine(program, diagnostics) else { return };
        if let Some(limit) = options.memory_limit(&machine) {
            fit(program, &machine, limit);
        }
    },
};

/// Recomputes values until a device holds at most `limit` bytes, or no further reduction is found.
fn fit(program: &mut Program, machine: &Machine, limit: u64) {
    let Some(main) = func::function(program, "main") else { return };
    let Some(mut held) = MemoryUse::of(program, main) else { return };
    if held.bytes <= limit {
        return;
    }
    let figures = |held: &MemoryUse| Figures { seconds: 0.0, bytes: held.bytes as f64 };
    let mut best = Best::new(None, figures(&held), limit as f64, 0.0);
    let mut trial = program.clone();
    for _ in 0..HEURISTICS.rematerialize_rounds {
        if best.excess() == 0.0 {
            break;
        }
        let seconds = seconds(&trial, machine);
        let chosen = choose(&held, held.candidates(&trial, &seconds), limit);
        if chosen.is_empty() {
            break;
        }
        again::make(&mut trial, &held, &chosen);
        let before = held.most_needed();
        let Some(now) = MemoryUse::of(&trial, main) else { break };
        held = now;
        best.offer(figures(&held), || Some(trial.clone()));
        if held.most_needed() > before {
            break;
        }
    }
    if let Some(kept) = best.kept {
        *program = kept;
    }
}

/// Returns the seconds of each op, including the ops in its kernel.
fn seconds(program: &Program, machine: &Machine) -> FxHashMap<Op, f64> {
    let mut seconds: FxHashMap<Op, f64> = FxHashMap::default();
    for event in estimate(program, machine).timeline {
        *seconds.entry(event.op).or_default() += event.seconds;
    }
    seconds
}

/// Chooses the cheapest candidates per freed byte, until enough is free at the step that needs most. No chosen
/// candidate reads another, since that would change its price.
fn choose(held: &MemoryUse, mut candidates: Vec<Candidate>, limit: u64) -> Vec<Candidate> {
    candidates.sort_by(|a, b| a.price().total_cmp(&b.price()).then(a.value.cmp(&b.value)));
    // The plan of buffers has gaps, so the limit is scaled by needed over allocated bytes.
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
