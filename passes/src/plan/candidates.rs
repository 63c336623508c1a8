//! Chooses among plans by the per-device programs that later passes make from them.
//!
//! A plan's own cost adds up seconds of collectives and arithmetic, and its own peak ignores buffers and
//! rematerialization. So this module compares plans by the step time and peak that `cost` prints for the program at the
//! end of the pipeline. It compares the full plan with the greedy one, and with plans that need less memory where the
//! full plan's program doesn't fit.

use std::sync::{Mutex, PoisonError};

use dialect::diagnostic::Diagnostics;
use dialect::ir::{Program, Stage};
use dialect::parallel::on_all_cores;

use super::{PlanOptions, PlanReport, Search, plan_with};
use crate::compile_options::CompileOptions;
use crate::estimate::{Estimate, Target, estimate, estimate_time};
use crate::mpmd::Pipeline;
use crate::options::Options;
use crate::pass::{Steps, run_reporting, run_unverified};
use crate::plan::heuristics::PLAN;
use crate::prepare;
use crate::variants::{Best, Figures};

/// The pipeline of the passes after `plan`.
const LATER: &str = "per-device";

/// Plans `program` by the options of the pass; `options` are those already read for the plan.
pub(super) fn plan_best(
    program: &mut Program,
    given: &Options,
    options: &PlanOptions,
    diagnostics: &mut Diagnostics,
) -> PlanReport {
    dialect::verify_transitions(program, diagnostics);
    if diagnostics.has_errors() {
        return PlanReport::default();
    }
    // The greedy plan keeps ops that the full one decomposes, so each plan prepares a copy of the program.
    let plan = |program: &mut Program, search: Search, memory: Option<u64>, diagnostics: &mut Diagnostics| {
        let compile = CompileOptions { search, ..given.compile.clone() };
        match given.registry().pipeline(prepare::PIPELINE, &compile) {
            Ok(steps) => drop(run_reporting(program, &steps, diagnostics)),
            Err(faults) => diagnostics.append(faults),
        }
        let options = PlanOptions { search, memory, ..*options };
        plan_with(program, &options, given.registry().rewrites(), diagnostics)
    };
    if options.search == Search::Greedy || Pipeline::of(program).is_some() {
        return plan(program, options.search, options.memory, diagnostics);
    }
    let plan = |search: Search, memory: Option<u64>| {
        let (mut program, mut diagnostics) = (program.clone(), Diagnostics::default());
        let report = plan(&mut program, search, memory, &mut diagnostics);
        Planned { program, report, diagnostics }
    };
    let (chosen, compared) = best(given, options.memory, &plan);
    diagnostics.append(chosen.diagnostics);
    *program = chosen.program;
    compared.into_iter().for_each(|best| best.report(program, given, diagnostics));
    chosen.report
}

/// A program as planned by one search.
struct Planned {
    program: Program,
    report: PlanReport,
    diagnostics: Diagnostics,
}

/// A plan, and the estimate of the per-device program that later passes make from it.
struct Candidate {
    planned: Planned,
    /// The memory limit of a device, in bytes.
    limit: f64,
    /// Without the peak where no limit needs it.
    estimate: Estimate,
}

/// The passes after `plan`, and the machine for which they compile and `cost` estimates.
struct Later<'a> {
    given: &'a Options,
    partition: Steps,
    others: Steps,
}

/// Returns the full plan if the program is large and the plan's own cost is clearly below that of the greedy plan, and
/// else the plan with the shortest step that fits; where none fits, the shortest of those that hold no more bytes than
/// the greedy plan. The second result is the comparison of their programs, if they were compared.
fn best(
    given: &Options,
    memory: Option<u64>,
    plan: &(impl Fn(Search, Option<u64>) -> Planned + Sync),
) -> (Planned, Option<Best<usize>>) {
    // If an embedder's pipeline can't be read, the error is reported where the pipeline is run.
    let Some(later) = Later::new(given) else { return (plan(Search::Full, memory), None) };
    let full = plan(Search::Full, None);
    let large = full.program.op_count() >= PLAN.compared_ops;
    let clear = large && full.report.seconds <= PLAN.clear_cost * full.report.greedy_seconds;
    let unlimited = memory.is_none() && matches!(given.target(&mut Diagnostics::default()), Some(Target::Flat(_)));
    if clear && unlimited {
        return (full, None);
    }
    let full = Mutex::new(Some(full));
    let finish_full = || later.finished(full.lock().unwrap_or_else(PoisonError::into_inner).take().expect("once"));
    let greedy = || later.finished(plan(Search::Greedy, memory));
    let (full, greedy) = if clear {
        match finish_full() {
            Ok(full) if full.estimate.peak_bytes <= full.limit => return (full.planned, None),
            full => (full, greedy()),
        }
    } else {
        let mut both = on_all_cores(2, |i| if i == 0 { finish_full() } else { greedy() }).into_iter();
        let (Some(full), Some(greedy)) = (both.next(), both.next()) else { unreachable!("two plans") };
        (full, greedy)
    };
    // If no per-device program can be made, the later passes report why.
    let (full, greedy) = match (full, greedy) {
        (Ok(full), Ok(greedy)) => (full, greedy),
        (Ok(full), Err(_)) => return (full.planned, None),
        (Err(planned), _) => return (*planned, None),
    };
    let limit = full.limit;
    let fits = full.estimate.peak_bytes <= limit;
    let mut candidates = vec![full, greedy];
    if !fits {
        later.smaller(&mut candidates, plan);
    }
    shortest(candidates, limit)
}

/// Returns the shortest of the candidates (the second is the greedy plan) that hold at most `limit` bytes, or at most
/// the greedy plan's bytes where none does.
fn shortest(mut candidates: Vec<Candidate>, limit: f64) -> (Planned, Option<Best<usize>>) {
    let bytes = |c: &Candidate| c.estimate.peak_bytes;
    let memory = if candidates.iter().any(|c| bytes(c) <= limit) { limit } else { bytes(&candidates[1]) };
    let best = Best::of(candidates.iter().map(|c| Figures::from(&c.estimate)).enumerate(), memory);
    let mut planned = candidates.swap_remove(best.as_ref().map_or(1, |best| best.kept)).planned;
    candidates.iter().for_each(|c| planned.report.effort.add(&c.planned.report.effort));
    (planned, best.map(|best| best.within(limit)))
}

impl<'a> Later<'a> {
    fn new(given: &'a Options) -> Option<Self> {
        let steps = given.registry().pipeline(LATER, &given.compile).ok()?;
        Some(Self { given, partition: steps.until(Stage::Partitioned), others: steps.after(Stage::Partitioned) })
    }

    /// Estimates the program that the later passes make from a plan; returns the plan alone if `partition` fails, or if
    /// there is only one device.
    fn finished(&self, planned: Planned) -> Result<Candidate, Box<Planned>> {
        let mut device = planned.program.clone();
        if planned.diagnostics.has_errors() || !run_unverified(&mut device, &self.partition) {
            return Err(Box::new(planned));
        }
        match self.given.machine(&mut device, &mut Diagnostics::default()) {
            Some((machine, mesh)) if mesh.devices() > 1 => {
                let limit = self.given.memory_limit(&machine).map_or(f64::INFINITY, |limit| limit as f64);
                // They don't fail if `partition` succeeded.
                run_unverified(&mut device, &self.others);
                // The peak takes a third of the time.
                let price = if limit.is_finite() { estimate } else { estimate_time };
                Ok(Candidate { estimate: price(&device, &machine), planned, limit })
            }
            _ => Err(Box::new(planned)),
        }
    }

    /// Adds plans that may need less memory than the full plan. Programs hold more or less than the plan's own peak:
    /// the limit of the first added plan is corrected by this ratio.
    fn smaller(&self, candidates: &mut Vec<Candidate>, plan: impl Fn(Search, Option<u64>) -> Planned) {
        let full = &candidates[0];
        let limit = full.limit;
        let corrected = limit * full.planned.report.peak / full.estimate.peak_bytes;
        for aim in [corrected, limit] {
            if aim != limit && aim < limit * PLAN.corrected_limit {
                continue;
            }
            let Ok(smaller) = self.finished(plan(Search::Full, Some(aim as u64))) else { continue };
            let fits = smaller.estimate.peak_bytes <= limit;
            candidates.push(smaller);
            if fits {
                break;
            }
        }
    }
}
