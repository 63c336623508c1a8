//! decompose-hierarchical: decomposes collectives between slices into stages, one inside of every slice and one over
//! the network that connects them.
//!
//! Requires the program that `partition` leaves, with small collectives merged (`schedule`); merged collectives aren't
//! decomposed. Keeps the results, up to the order in which sums are added. The model prices a collective over several
//! levels as these stages, one after the other (see `estimate::collective`), and libraries run it so. Separate stages
//! are faster where something else may run between them: stages inside of a slice overlap those over the network.

mod find;
mod stages;

use dialect::ir::Program;
use dialect::sharding::Mesh;
use rustc_hash::FxHashMap;

use crate::compile_options::{MEMORY, TARGET};
use crate::estimate::{Estimate, Machine, estimate};
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use find::{Candidate, candidates};
use stages::{Last, apply};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "decompose-hierarchical",
    doc: "Take collectives between slices apart into stages inside of each slice and over the network between them.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef { doc: "The slices, or islands of GPUs, and the network between them.", ..TARGET },
        OptionDef::choice(
            "hierarchical",
            &["shorter", "always", "never"],
            "Where the timeline gets shorter, wherever it is possible, or nowhere.",
        ),
        MEMORY,
    ],
    run: |program, options, diagnostics| {
        let when = options.text("hierarchical").to_owned();
        if when == "never" {
            return;
        }
        let Some((machine, mesh)) = options.machine(program, diagnostics) else { return };
        let found = candidates(program, &mesh, &machine);
        if found.is_empty() {
            return;
        }
        if when == "always" {
            apply(program, &mesh, &found, Last::AtOnce);
        } else {
            let memory = options.compile.memory.unwrap_or(machine.memory_bytes());
            where_shorter(program, &mesh, &machine, memory, &found);
        }
    },
};

/// The limit on the classes of collectives that are examined one by one; those that take longest are.
const MOST_CLASSES: usize = 12;
/// A timeline must get shorter by at least this share.
const WORTH: f64 = 1e-3;

/// A program with some classes of collectives in stages, and its estimate.
struct Trial {
    program: Program,
    estimate: Estimate,
    last: Last,
    classes: Vec<bool>,
}

fn where_shorter(program: &mut Program, mesh: &Mesh, machine: &Machine, memory: u64, found: &[Candidate]) {
    let before = estimate(program, machine);
    let memory = before.peak_bytes.max(memory as f64);
    let count = found.iter().map(|c| c.class + 1).max().unwrap_or(0);
    let trial = |classes: Vec<bool>, last: Last| {
        let mut staged = program.clone();
        let chosen: Vec<Candidate> = found.iter().filter(|c| classes[c.class]).cloned().collect();
        apply(&mut staged, mesh, &chosen, last);
        let estimate = estimate(&staged, machine);
        (estimate.peak_bytes <= memory).then_some(Trial { program: staged, estimate, last, classes })
    };
    let shorter = |a: &Trial, seconds: f64| a.estimate.step_seconds < seconds * (1.0 - WORTH);
    // All classes together, then each class separately.
    let all = [Last::Late, Last::AtOnce].into_iter().filter_map(|last| trial(vec![true; count], last));
    let all = all.min_by(|a, b| a.estimate.step_seconds.total_cmp(&b.estimate.step_seconds));
    let mut best = all.filter(|all| shorter(all, before.step_seconds));
    for class in dearest(found, &before) {
        let seconds = best.as_ref().map_or(before.step_seconds, |best| best.estimate.step_seconds);
        let (mut classes, last) =
            best.as_ref().map_or((vec![false; count], Last::Late), |b| (b.classes.clone(), b.last));
        classes[class] = !classes[class];
        best = trial(classes, last).filter(|trial| shorter(trial, seconds)).or(best);
    }
    if let Some(best) = best {
        *program = best.program;
    }
}

/// Returns the classes of collectives, those that take most of the time first.
fn dearest(found: &[Candidate], before: &Estimate) -> Vec<usize> {
    let seconds: FxHashMap<_, f64> = before.collectives.iter().map(|c| (c.op, c.seconds * c.count as f64)).collect();
    let mut classes: Vec<f64> = Vec::new();
    for candidate in found {
        classes.resize(classes.len().max(candidate.class + 1), 0.0);
        classes[candidate.class] += seconds.get(&candidate.op).copied().unwrap_or(0.0);
    }
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by(|&a, &b| classes[b].total_cmp(&classes[a]).then(a.cmp(&b)));
    order.truncate(MOST_CLASSES);
    order
}
