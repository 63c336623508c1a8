//! collective-matmul: multiplies while data is being sent, instead of gathering an operand before a product or
//! scattering its sum after it ("windowed einsum": Wang et al., "Overlap Communication with Dependent Computation via
//! Decomposition in Large Deep Learning Models", ASPLOS 2023).
//!
//! Requires the program that `partition` leaves. Keeps the results, up to the order in which partial products are
//! added. Decomposes a gather or scatter where the modeled timeline of the whole program gets shorter, on machines
//! whose links work during arithmetic. Collectives that look alike share one decision.

mod find;
mod order;
mod ring;

use dialect::ir::{Op, Program};
use dialect::sharding::Mesh;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::compile_options::{MEMORY, TARGET};
use crate::estimate::{Machine, Target, estimate};
use crate::heuristics::HEURISTICS;
use crate::options::OptionDef;
use crate::pass::{Effect, Pass};
use crate::spmd;
use crate::variants::{Best, Figures, dearest};
pub(crate) use find::divided;
use find::{Candidate, Side, candidates};
use ring::{Directions, unroll};

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "collective-matmul",
    doc: "Overlaps a product with gathering an operand or scattering the sum, in chunks around a ring of at most 32 \
        devices.",
    effect: Effect::Rewrite,
    options: &[
        OptionDef { doc: "The slice of TPUs whose modelled timeline decides where the step gets shorter.", ..TARGET },
        OptionDef::choice(
            "when",
            &["shorter", "always", "never"],
            "Apply it where the modelled timeline gets shorter, wherever possible, or nowhere.",
        ),
        MEMORY,
        OptionDef::choice(
            "directions",
            &["best", "one", "both"],
            "The directions around the ring in which data is sent.",
        ),
    ],
    run: |program, options, diagnostics| {
        let (Some(target), when) = (options.target(diagnostics), options.text("when")) else { return };
        if when == "never" || when == "shorter" && !overlaps(&target) {
            // Nothing overlaps on this machine.
            return;
        }
        let Some((machine, mesh)) = options.machine(program, diagnostics) else { return };
        let directions: &[Directions] = match options.text("directions") {
            "one" => &[Directions::One],
            "both" => &[Directions::Both],
            _ => &[Directions::Both, Directions::One],
        };
        match when {
            "always" => always(program, &mesh, &machine, directions[0]),
            _ => {
                let memory = options.compile.memory.unwrap_or(machine.memory_bytes());
                if let Some(best) = where_shorter(program, &mesh, &machine, memory, directions) {
                    best.report(program, options, diagnostics);
                }
            }
        }
    },
};

/// Returns whether collectives can overlap arithmetic on a machine of this kind.
fn overlaps(target: &Target) -> bool {
    match target {
        Target::Flat(_) => false,
        Target::Slice(_) | Target::Chip(..) => true,
        Target::Custom(model) => model.0.overlaps_communication(),
    }
}

/// The chosen candidates, by index, with their directions.
type Chosen = Vec<(usize, Directions)>;

fn always(program: &mut Program, mesh: &Mesh, machine: &Machine, directions: Directions) {
    let found = on_rings(program, mesh, machine);
    let allowed = allowed(program, &found);
    let mut chosen = Chosen::new();
    for class in 0..=found.iter().map(|c| c.class).max().unwrap_or(0) {
        add(&found, &allowed, class, directions, &mut chosen);
    }
    apply(program, mesh, &found, &chosen);
}

fn where_shorter(
    program: &mut Program,
    mesh: &Mesh,
    machine: &Machine,
    memory: u64,
    directions: &[Directions],
) -> Option<Best<Chosen>> {
    let found = on_rings(program, mesh, machine);
    if found.is_empty() {
        return None;
    }
    let before = estimate(program, machine);
    let best = Best::new(Chosen::new(), Figures::from(&before), before.peak_bytes.max(memory as f64), HEURISTICS.gain);
    let allowed = allowed(program, &found);
    let least = before.exposed_seconds().min(before.step_seconds) * HEURISTICS.gain;
    let classes = dearest(found.iter().map(|c| (c.collective, c.class)), &before, least);
    let choices = classes.into_iter().flat_map(|class| directions.iter().map(move |&directions| (class, directions)));
    let best = best.improve(choices, |chosen, (class, directions)| {
        let (tried, mut trial): (Chosen, Chosen) = chosen.iter().copied().partition(|c| found[c.0].class == class);
        // Between two devices there is only one direction.
        if !tried.is_empty() && found.iter().any(|c| c.class == class && c.devices == 2) {
            return None;
        }
        add(&found, &allowed, class, directions, &mut trial).then(|| {
            let mut unrolled = program.clone();
            apply(&mut unrolled, mesh, &found, &trial);
            (trial, Figures::from(&estimate(&unrolled, machine)))
        })
    });
    apply(program, mesh, &found, &best.kept);
    Some(best)
}

/// Returns all candidates, with the cheapest order of their rings.
fn on_rings(program: &Program, mesh: &Mesh, machine: &Machine) -> Vec<Candidate> {
    let mut found = candidates(program, mesh);
    let mut orders = FxHashMap::default();
    for candidate in &mut found {
        let view = program.view(candidate.collective);
        let order = orders.entry(candidate.axes.clone()).or_insert_with(|| {
            let collective = view.def().collective(view)?;
            order::ring_order(machine, &collective.groups)
        });
        candidate.order = order.clone();
    }
    found
}

/// Chooses the candidates of a class that share no op with the chosen ones; returns whether there were any.
fn add(found: &[Candidate], allowed: &[bool], class: usize, directions: Directions, chosen: &mut Chosen) -> bool {
    let ops = |c: &Candidate| c.products.iter().map(|p| p.op).chain([c.collective]).collect::<Vec<Op>>();
    let mut taken: FxHashSet<Op> = chosen.iter().flat_map(|c| ops(&found[c.0])).collect();
    let before = chosen.len();
    for (i, candidate) in found.iter().enumerate().filter(|c| c.1.class == class && allowed[c.0]) {
        let own = ops(candidate);
        if !own.iter().any(|op| taken.contains(op)) {
            taken.extend(own);
            chosen.push((i, directions));
        }
    }
    chosen.len() > before
}

/// Returns which candidates keep values equal that devices hold in common. Each device adds the partial products of a
/// contracted dimension in a different order, so devices of a ring must not compute one result together.
fn allowed(program: &mut Program, found: &[Candidate]) -> Vec<bool> {
    let adds = |c: &Candidate| c.side == Side::Gather && c.products.iter().any(|p| p.result.is_none());
    if !found.iter().any(adds) {
        return vec![true; found.len()];
    }
    let values: Vec<_> = found
        .iter()
        .map(|c| match adds(c) {
            true => c.products.iter().filter(|p| p.result.is_none()).map(|p| program.result(p.op, 0)).collect(),
            false => Vec::new(),
        })
        .collect();
    let groups: Vec<_> = found.iter().map(|c| c.collective).collect();
    spmd::all_differ(program, &groups, &values)
}

fn apply(program: &mut Program, mesh: &Mesh, found: &[Candidate], chosen: &Chosen) {
    let chosen: Vec<_> = chosen.iter().map(|&(i, directions)| (&found[i], directions)).collect();
    if !chosen.is_empty() {
        unroll(program, mesh, &chosen);
    }
}
