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

use crate::compile_options::{MEMORY, TARGET};
use crate::estimate::{Machine, estimate};
use crate::heuristics::HEURISTICS;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::variants::{Best, Figures, dearest};
use find::{Candidate, candidates};
use stages::{Last, apply};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "decompose-hierarchical",
    doc: "Splits collectives between slices into stages inside each slice and over the network between them.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef { doc: "The slices, or islands of GPUs, and the network between them.", ..TARGET },
        OptionDef::choice(
            "hierarchical",
            &["shorter", "always", "never"],
            "Apply it where the modelled timeline gets shorter, wherever possible, or nowhere.",
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
            where_shorter(program, &mesh, &machine, memory, &found).report(program, options, diagnostics);
        }
    },
};

/// A program with some classes of collectives in stages.
struct Trial {
    program: Program,
    last: Last,
    classes: Vec<bool>,
}

fn where_shorter(
    program: &mut Program,
    mesh: &Mesh,
    machine: &Machine,
    memory: u64,
    found: &[Candidate],
) -> Best<Trial> {
    let before = estimate(program, machine);
    let memory = before.peak_bytes.max(memory as f64);
    let count = found.iter().map(|c| c.class + 1).max().unwrap_or(0);
    let trial = |classes: Vec<bool>, last: Last| {
        let mut program = program.clone();
        let chosen: Vec<Candidate> = found.iter().filter(|c| classes[c.class]).cloned().collect();
        apply(&mut program, mesh, &chosen, last);
        let figures = Figures::from(&estimate(&program, machine));
        (Trial { program, last, classes }, figures)
    };
    let whole = Trial { program: program.clone(), last: Last::Late, classes: vec![false; count] };
    // All classes together, then each class separately.
    let classes = dearest(found.iter().map(|c| (c.op, c.class)), &before, 0.0);
    let choices = [None].into_iter().chain(classes.into_iter().map(Some));
    let best = Best::new(whole, Figures::from(&before), memory, HEURISTICS.gain).improve(choices, |kept, class| {
        let Some(class) = class else {
            let all = Best::of([Last::Late, Last::AtOnce].map(|last| trial(vec![true; count], last)), memory)?;
            return Some((all.kept, all.figures));
        };
        let mut classes = kept.classes.clone();
        classes[class] = !classes[class];
        Some(trial(classes, kept.last))
    });
    if best.kept.classes.contains(&true) {
        *program = best.kept.program.clone();
    }
    best
}
