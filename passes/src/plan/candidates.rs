//! Chooses among plans by the per-device programs that later passes make of them.
//!
//! A plan's own cost adds up seconds of collectives and arithmetic, and its own peak knows neither buffers nor
//! rematerialization. What counts is what `cost` prints for the program at the end of the pipeline. The full plan is
//! compared with the greedy one, and with plans that need less memory where its own program doesn't fit.

use std::sync::Arc;

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::Program;
use dialect::ops::func;

use super::{PlanOptions, PlanReport, Search, plan_with};
use crate::estimate::{Estimate, Machine, estimate};
use crate::mpmd::Pipeline;
use crate::options::Options;
use crate::pass::{Step, run_unverified};
use crate::registry::Registry;
use crate::units;

/// The pipeline of the passes after `plan`.
const LATER: &str = "per-device";

/// The least share of arithmetic's seconds that remains after all passes, which fuse and join ops. Collectives have no such
/// bound: joined ones save all but one start-up.
const LEAST_COMPUTE: f64 = 0.75;

/// Both programs of fewer ops are always made and compared: later passes change their steps by more than bounds allow for.
const SMALL: usize = 400;

/// The least ratio of a corrected limit on the plan's own peak to the limit itself that is worth a search of its own.
const WORTH: f64 = 1.02;

/// Plans `program` by the options of the pass, of which the plan's are read already.
pub(super) fn plan_best(
    program: &mut Program,
    given: &Options,
    options: &PlanOptions,
    diagnostics: &mut Diagnostics,
) -> PlanReport {
    let rewrites = &given.context().rewrites;
    if options.search == Search::Greedy || Pipeline::of(program).is_some() {
        return plan_with(program, options, rewrites, diagnostics);
    }
    let plan = |search: Search, memory: Option<u64>| {
        let (mut program, mut diagnostics) = (program.clone(), Diagnostics::default());
        let options = PlanOptions { search, memory, ..*options };
        let report = plan_with(&mut program, &options, rewrites, &mut diagnostics);
        Planned { program, report, diagnostics }
    };
    let full = plan(Search::Full, None);
    let (chosen, given_up) = best(full, given, options.memory, plan);
    diagnostics.append(chosen.diagnostics);
    *program = chosen.program;
    if given.text("over-memory") != "allow"
        && let (Some(text), Some(main)) = (given_up, func::function(program, "main"))
    {
        diagnostics.push(warning(program.op(main).span, text));
    }
    chosen.report
}

/// A program as one search planned it.
struct Planned {
    program: Program,
    report: PlanReport,
    diagnostics: Diagnostics,
}

/// A plan, and the per-device program that is made of it.
struct Candidate {
    planned: Planned,
    device: Program,
    estimate: Estimate,
}

/// The passes after `plan`, and the machine that they and `cost` make and price programs for.
struct Later {
    partition: Vec<Step>,
    others: Vec<Step>,
    machine: Machine,
    /// What a device may hold, in bytes.
    limit: f64,
}

/// The plan of the shortest step that fits; where none does, of those that hold no more than the greedy plan. The second
/// result says what was given up for memory.
fn best(
    full: Planned,
    given: &Options,
    memory: Option<u64>,
    plan: impl Fn(Search, Option<u64>) -> Planned,
) -> (Planned, Option<String>) {
    // What can't be made into a per-device program is left to the passes that will say why.
    let (later, mut full) = match Later::new(given, full) {
        Ok(found) => found,
        Err(full) => return (*full, None),
    };
    let Ok(mut greedy) = later.partitioned(plan(Search::Greedy, memory)) else { return (full.planned, None) };
    let large = full.device.op_count() >= SMALL;
    let floor = if large { LEAST_COMPUTE * greedy.estimate.compute_seconds } else { 0.0 };
    let fits = |c: &Candidate| c.estimate.peak_bytes <= later.limit;
    let clear = |c: &Candidate| fits(c) && c.estimate.step_seconds <= floor;
    let fitted = fits(&full);
    if clear(&full) {
        return (full.planned, None);
    }
    later.finish(&mut full);
    if fitted && clear(&full) {
        return (full.planned, None);
    }
    later.finish(&mut greedy);
    let mut candidates = vec![full, greedy];
    if !fitted {
        later.smaller(&mut candidates, plan);
    }
    shortest(candidates, later.limit)
}

/// The shortest of candidates, of which the second is the greedy plan, that holds at most `limit` bytes, or no more than the
/// greedy plan where none does; and what was given up for that.
fn shortest(mut candidates: Vec<Candidate>, limit: f64) -> (Planned, Option<String>) {
    let bytes = |c: &Candidate| c.estimate.peak_bytes;
    let most = if candidates.iter().any(|c| bytes(c) <= limit) { limit } else { bytes(&candidates[1]) };
    let within = |most: f64| {
        let held = candidates.iter().enumerate().filter(|c| bytes(c.1) <= most);
        held.min_by(|a, b| a.1.estimate.step_seconds.total_cmp(&b.1.estimate.step_seconds)).map_or(1, |c| c.0)
    };
    let (chosen, free) = (within(most), within(f64::INFINITY));
    let (used, given) = (&candidates[chosen].estimate, &candidates[free].estimate);
    let text = (free != chosen).then(|| given_up(given, used, limit));
    let mut planned = candidates.swap_remove(chosen).planned;
    candidates.iter().for_each(|c| planned.report.effort.add(&c.planned.report.effort));
    (planned, text)
}

impl Later {
    /// The passes after `plan` with its options, and what the first of them makes of a plan; the plan alone if that fails, or
    /// where there is only one device.
    fn new(given: &Options, planned: Planned) -> Result<(Self, Candidate), Box<Planned>> {
        let Some((partition, others)) = steps(given) else { return Err(Box::new(planned)) };
        let Some(mut device) = partitioned(&planned, &partition) else { return Err(Box::new(planned)) };
        let Some((machine, mesh)) = given.machine(&mut device, &mut Diagnostics::default()) else {
            return Err(Box::new(planned));
        };
        if mesh.devices() <= 1 {
            return Err(Box::new(planned));
        }
        let limit = given.memory_limit(&machine).map_or(f64::INFINITY, |limit| limit as f64);
        let estimate = estimate(&device, &machine);
        Ok((Self { partition, others, machine, limit }, Candidate { planned, device, estimate }))
    }

    /// What `partition` makes of a plan; the plan alone if it fails.
    fn partitioned(&self, planned: Planned) -> Result<Candidate, Box<Planned>> {
        let Some(device) = partitioned(&planned, &self.partition) else { return Err(Box::new(planned)) };
        let estimate = estimate(&device, &self.machine);
        Ok(Candidate { planned, device, estimate })
    }

    /// Runs the passes after `partition`; none of them fails where that didn't.
    fn finish(&self, candidate: &mut Candidate) {
        if run_unverified(&mut candidate.device, &self.others) {
            candidate.estimate = estimate(&candidate.device, &self.machine);
        }
    }

    /// Adds plans that may need less memory than the full plan. Programs hold more or less than the plan's own peak says: the
    /// limit of the first one is corrected by how much.
    fn smaller(&self, candidates: &mut Vec<Candidate>, plan: impl Fn(Search, Option<u64>) -> Planned) {
        let full = &candidates[0];
        let corrected = self.limit * full.planned.report.peak / full.estimate.peak_bytes;
        for limit in [corrected, self.limit] {
            if limit != self.limit && limit < self.limit * WORTH {
                continue;
            }
            let Ok(mut smaller) = self.partitioned(plan(Search::Full, Some(limit as u64))) else { continue };
            self.finish(&mut smaller);
            let fits = smaller.estimate.peak_bytes <= self.limit;
            candidates.push(smaller);
            if fits {
                break;
            }
        }
    }
}

/// `partition`, and the passes after it, with the options of `plan`.
fn steps(given: &Options) -> Option<(Vec<Step>, Vec<Step>)> {
    let mut partition = Registry::standard().parse(LATER).ok()?;
    let context = Arc::new(given.context().clone());
    for step in &mut partition {
        step.options = std::mem::take(&mut step.options).within(context.clone());
        for name in ["target", "memory"] {
            if step.pass.options.iter().any(|option| option.name == name) {
                step.options.set(step.pass.options, name, given.text(name)).ok()?;
            }
        }
    }
    let others = partition.split_off(1);
    Some((partition, others))
}

fn partitioned(planned: &Planned, partition: &[Step]) -> Option<Program> {
    let mut device = planned.program.clone();
    (!planned.diagnostics.has_errors() && run_unverified(&mut device, partition)).then_some(device)
}

fn given_up(free: &Estimate, used: &Estimate, limit: f64) -> String {
    let text = |cost: &Estimate| {
        format!("a step of {} that holds {}", units::seconds(cost.step_seconds), units::bytes(cost.peak_bytes))
    };
    format!("{} doesn't fit into {}; planned is {}", text(free), units::bytes(limit), text(used))
}

fn warning(span: Span, text: String) -> Diagnostic {
    let d = Diagnostic::warning(codes::MEMORY_COSTS_TIME, span, text);
    d.note("--memory BYTES sets another limit, --allow memory says nothing of it")
}
