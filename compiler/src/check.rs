//! Checks that partitioning kept a program's meaning: runs the original and the partitioned program over the same
//! inputs. If results differ, both run again with the value of every op as a result, to find the first op that differs.

mod progress;

use std::time::{Duration, Instant};

use dialect::ir::AttrData;
use dialect::kernel::{External, Kernel};
use dialect::literal::Literal;
use dialect::ops::{mhlo, sdy};
use dialect::sharding::Mesh;
use passes::estimate::{Flat, Machine, estimate};
use passes::{CompileOptions, Step};
use runtime::reference::{self, Limits};
use serde::Serialize;

pub use progress::CheckProgress;

use crate::compare::{Comparison, Tolerance};
use crate::compiler::{Compiler, Watch};
use crate::culprit::CulpritSearch;
use crate::diagnostic::Outcome;
use crate::execute::{Backend, ExecuteOptions, HAS_NATIVE, Interface, evaluation_fault, replicas_and_partitions};
use crate::module::Module;
use crate::rounding::{Judged, RUNS, Rounding, judge};

/// The comparison of the partitioned program with the original. Serialized, it is what `shardc check --json` prints.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// The comparison of each result of each replica.
    pub results: Vec<CheckedResult>,
    /// The source location of the first op whose value differs, if known.
    pub first_op: Option<String>,
    /// A sentence about the first difference.
    #[serde(skip)]
    pub culprit: Option<String>,
    /// What wasn't checked because the time was over; empty if everything was checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
}

/// The options of [`Compiler::check`].
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The backend that runs the partitioned program.
    pub backend: Backend,
    /// The maximum allowed difference of floats. By default, each element may differ by as much as rounding can change
    /// it.
    pub tolerance: Tolerance,
    /// The time limit, excluding compilation; `None` for no limit.
    pub budget: Option<Duration>,
    /// The progress of the check, which other threads can read while it runs.
    pub progress: CheckProgress,
}

/// The comparison of one result with the expected one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckedResult {
    /// Whether both results are equal, where floats may differ by what rounding can do to each element; false if
    /// unknown.
    pub equal: bool,
    /// Whether there was time to decide `equal`.
    pub checked: bool,
    /// The largest difference, allowed or not; 0 if the results are the same, infinite (`null` in JSON) if only one of
    /// the two values is NaN.
    pub max_error: f64,
    /// The index of the element with that difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error_at: Option<Vec<i64>>,
    /// The allowed difference at that element.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// The number of elements that differ by more than the allowed difference.
    pub count: usize,
    /// The replica that computes the result.
    #[serde(skip)]
    pub replica: usize,
    /// The index of the result among the results of `@main`.
    #[serde(skip)]
    pub index: usize,
    /// The full comparison.
    #[serde(skip)]
    pub comparison: Comparison,
}

impl CheckedResult {
    /// Converts the comparisons of each replica's results.
    fn all(compared: Vec<Vec<Comparison>>) -> Vec<Self> {
        let of = |(replica, compared): (usize, Vec<Comparison>)| {
            compared.into_iter().enumerate().map(move |(index, comparison)| {
                let largest = comparison.largest.as_ref();
                Self {
                    equal: comparison.equal(),
                    checked: comparison.equal() || comparison.differs(),
                    max_error: largest.map_or(0.0, |d| d.error),
                    max_error_at: largest.map(|d| d.index.clone()),
                    allowed: largest.map(|d| d.allowed),
                    count: comparison.count,
                    replica,
                    index,
                    comparison,
                }
            })
        };
        compared.into_iter().enumerate().flat_map(of).collect()
    }
}

impl Check {
    /// Returns whether every result is equal.
    pub fn equal(&self) -> bool {
        self.results.iter().all(|r| r.equal)
    }

    /// Returns whether some result differs, even if others are undecided.
    pub fn differs(&self) -> bool {
        self.results.iter().any(|r| r.checked && !r.equal)
    }

    /// Returns whether at least one result was decided, or there are none.
    pub fn decided(&self) -> bool {
        self.results.is_empty() || self.results.iter().any(|r| r.checked)
    }

    /// Adds a note to `unchecked` if nothing could be decided in the time.
    fn said(mut self) -> Self {
        if !self.decided() {
            self.unchecked
                .push("the time was over before anything could be compared: a larger --budget is needed".to_owned());
        }
        self
    }
}

impl Compiler {
    /// Compiles a program, runs both the original and the partitioned program over the same global inputs of each
    /// replica, and compares every result. Without a tolerance, each element may differ by as much as rounding can
    /// change it, which is measured.
    pub fn check(
        &self,
        module: &Module,
        inputs: &[Vec<Literal>],
        options: &CompileOptions,
        check: &CheckOptions,
    ) -> Outcome<Check> {
        let (plan, rest) = match self.steps("compile", options) {
            Ok(steps) => (steps.until(passes::Stage::Planned), steps.after(passes::Stage::Planned)),
            Err(faults) => return Outcome::new(module.source(), None, &faults),
        };
        let run = |module: Module, steps: &[Step]| self.run_steps(module, steps, &mut Watch::default());
        check.progress.enter("compiling");
        self.evaluable(module).and_then(|module| {
            run(module.clone(), &plan).and_then(|planned| {
                run(planned.clone(), &rest).and_then(|device| {
                    let run = Run { compiler: self, module: &module, planned: &planned, rest: &rest, inputs, check };
                    run.check(&device)
                })
            })
        })
    }

    /// Returns the program in a form that the reference evaluator supports. Three kinds of programs need a change: a
    /// `shard_map` from before Shardy is imported, because its custom calls have a meaning only together; and if the
    /// program reads device numbers, which a single global evaluation doesn't have, its ops that run on one device
    /// alone are expanded. All other programs stay as they are.
    fn evaluable(&self, module: &Module) -> Outcome<Module> {
        let program = module.program();
        let (mut old, mut numbers, mut alone) = (false, false, false);
        program.walk(program.body(), &mut |op| {
            let view = program.view(op);
            old |= view.attr("call_target_name").and_then(AttrData::as_str) == Some(mhlo::ENTER_MANUAL);
            numbers |= matches!(view.def().kernel(view), Kernel::External(External::PartitionId));
            let shardings = sdy::result_shardings(view).unwrap_or_default();
            alone |= shardings.iter().any(|s| sdy::resolve(program, &s.mesh).is_some_and(Mesh::is_maximal));
        });
        let passes = match (old, numbers && alone) {
            (_, true) => "sharded,one-device",
            (true, false) => "import",
            (false, false) => return Outcome::of(module.source(), Ok(module.clone())),
        };
        self.run_passes(module.clone(), passes)
    }

    /// Compares the results of a program, compiled to `device`, with the expected results for the same inputs. Each
    /// element may differ by the tolerance, or without one by what rounding can change it by. The effect of rounding is
    /// measured by evaluating the program; for a program that is too large for that, it is estimated from the element
    /// type.
    pub fn compare_results(
        &self,
        device: &Module,
        inputs: &[Vec<Literal>],
        got: &[Vec<Literal>],
        want: &[Vec<Literal>],
        tolerance: Tolerance,
    ) -> Vec<CheckedResult> {
        let global = || {
            if !small_enough(device) {
                return None;
            }
            let module = self.parse(device.source().clone()).into_result().ok()?;
            self.evaluable(&module).into_result().ok()
        };
        let module = std::sync::OnceLock::new();
        let module = || module.get_or_init(global).as_ref();
        let undisturbed = || reference::evaluate_replicas(module()?.program(), inputs).ok();
        let disturbed = |seed| reference::evaluate_disturbed(module()?.program(), inputs, Limits::default(), seed).ok();
        let rounding = Rounding { undisturbed: &undisturbed, disturbed: &disturbed };
        CheckedResult::all(judge(got, want, tolerance, &rounding).found)
    }
}

/// A check of a compiled program.
struct Run<'a> {
    compiler: &'a Compiler,
    /// The program, in a form that the reference evaluator supports.
    module: &'a Module,
    planned: &'a Module,
    /// The passes that turn `planned` into the per-device program.
    rest: &'a [Step],
    inputs: &'a [Vec<Literal>],
    check: &'a CheckOptions,
}

impl Run<'_> {
    fn check(&self, device: &Module) -> Outcome<Check> {
        let CheckOptions { backend, budget, progress, .. } = self.check;
        let limits = Limits::until(budget.and_then(|budget| Instant::now().checked_add(budget)));
        let is_over = || is_over(limits);
        progress.expect(expected(device));
        progress.enter("running the partitioned program");
        let execute = ExecuteOptions { backend: *backend, deadline: limits.deadline, ..ExecuteOptions::default() };
        let got = self.compiler.execute(device, self.inputs, &execute);
        // Native execution has no deadline, so an error from it is never a timeout.
        if got.value.is_none() && *backend == Backend::Reference && is_over() {
            let what = "the time was over before the partitioned program could run";
            return Outcome::of(self.module.source(), Ok(self.nothing(device, what)));
        }
        got.and_then(|got| {
            progress.enter("evaluating the original program");
            let want = reference::evaluate_replicas_within(self.module.program(), self.inputs, limits);
            match want {
                Err(_) if is_over() => {
                    Outcome::of(self.module.source(), Ok(self.compare_with_native(device, &got.results)))
                }
                Err(error) => Outcome::of(self.module.source(), Err(evaluation_fault(error, &[]))),
                Ok(want) => self.compare_with_evaluated(device, &got.results, &want, limits),
            }
        })
    }

    /// Compares the results with those of the reference evaluator.
    fn compare_with_evaluated(
        &self,
        device: &Module,
        got: &[Vec<Literal>],
        want: &[Vec<Literal>],
        limits: Limits,
    ) -> Outcome<Check> {
        let judged = judge_against(self.module, self.inputs, got, want, self.judging(limits));
        let (differs, unchecked) = (judged.differs(), unfinished(&judged));
        let results = CheckedResult::all(judged.found);
        let mut check = Check { results, first_op: None, culprit: None, unchecked };
        let source = self.module.source();
        if !differs {
            return Outcome::of(source, Ok(check.said()));
        }
        self.check.progress.enter("looking for the first op that differs");
        let culprit = self.culprit(device, got, want, limits);
        if culprit.value.is_none() && is_over(limits) {
            check.unchecked.push("the time was over before the first op that differs could be found".to_owned());
            return Outcome::of(source, Ok(check));
        }
        culprit.map(|(first_op, culprit)| Check { first_op, culprit: Some(culprit), ..check })
    }

    fn judging(&self, limits: Limits) -> Judging<'_> {
        Judging { tolerance: self.check.tolerance, limits, progress: &self.check.progress }
    }

    /// Compares the results with those of the same program run natively on one device. Used when the reference
    /// evaluator has no time.
    fn compare_with_native(&self, device: &Module, got: &[Vec<Literal>]) -> Check {
        let no_time = "the reference evaluator didn't finish in the time";
        if !HAS_NATIVE {
            return self.nothing(device, no_time);
        }
        self.check.progress.enter("running the program on one device");
        let whole = self.compiler.run_passes(self.module.clone(), "import");
        let whole = whole.and_then(|whole| self.compiler.execute(&whole, self.inputs, &ExecuteOptions::default()));
        let Ok(want) = whole.into_result() else {
            return self
                .nothing(device, &format!("{no_time}, and native execution can't run this program on one device"));
        };
        let unmeasured = Rounding { undisturbed: &|| Some(want.results.clone()), disturbed: &|_| None };
        let judged = judge(got, &want.results, tolerance(self.module, self.check.tolerance), &unmeasured);
        let mut unchecked = vec![format!(
            "{no_time}, so the results were compared with those of the same program run natively on one device; a \
            fault that both runs share isn't found"
        )];
        if judged.stopped {
            unchecked.push("the time was over before the effect of rounding could be measured".to_owned());
        }
        Check { results: CheckedResult::all(judged.found), first_op: None, culprit: None, unchecked }.said()
    }

    /// Returns the check's outcome when there are no results to compare.
    fn nothing(&self, device: &Module, why: &str) -> Check {
        let types = Interface::of(device).map(|interface| interface.results).unwrap_or_default();
        let of_replica: Vec<Comparison> =
            types.iter().map(|ty| Comparison::nothing(ty.elements().unwrap_or(0))).collect();
        let results = CheckedResult::all(vec![of_replica; self.inputs.len()]);
        Check { results, first_op: None, culprit: None, unchecked: vec![why.to_owned()] }.said()
    }

    /// Finds the first op whose value differs, and returns its source location and a sentence about it.
    fn culprit(
        &self,
        device: &Module,
        got: &[Vec<Literal>],
        want: &[Vec<Literal>],
        limits: Limits,
    ) -> Outcome<(Option<String>, String)> {
        let source = self.planned.source();
        let Ok(planned) = reference::evaluate_replicas_within(self.planned.program(), self.inputs, limits) else {
            return Outcome::of(source, Ok((None, "the planned program couldn't be evaluated in the time".to_owned())));
        };
        if judge_against(self.module, self.inputs, &planned, want, self.judging(limits)).differs() {
            let fault = "the planned program differs before it is partitioned: the fault is in the plan";
            return Outcome::of(source, Ok((None, fault.to_owned())));
        }
        let (compiler, inputs, judging) = (self.compiler, self.inputs, self.judging(limits));
        let search = CulpritSearch { compiler, planned: self.planned, rest: self.rest, inputs, judging };
        search.run().and_then(|found| match found {
            Some(culprit) => Outcome::of(source, Ok((Some(culprit.place), culprit.text))),
            None => self.native_fault(device, got, limits).map(|text| (None, text)),
        })
    }

    /// Explains a difference that no op shows in the reference evaluator. Native execution is at fault only if the
    /// reference evaluator returns other results for the same per-device program.
    fn native_fault(&self, device: &Module, got: &[Vec<Literal>], limits: Limits) -> Outcome<String> {
        let (backend, deadline) = (Backend::Reference, limits.deadline);
        let execute = ExecuteOptions { backend, deadline, ..ExecuteOptions::default() };
        self.compiler.execute(device, self.inputs, &execute).map(|interpreted| {
            let judged = judge_against(self.module, self.inputs, got, &interpreted.results, self.judging(limits));
            match judged.differs() {
                _ if judged.stopped => "the time was over before the first op that differs could be found".to_owned(),
                false => "no op's value differs, and native execution and the reference evaluator agree on the \
                    per-device program: rounding adds up to more than was measured, or to more than --rtol and --atol \
                    allow"
                    .to_owned(),
                true => {
                    "no op's value differs in the reference evaluator, but native execution of the same per-device \
                    program has other results: the fault is in native execution"
                        .to_owned()
                }
            }
        })
    }
}

fn is_over(limits: Limits) -> bool {
    limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// Returns the tolerance to use: zero for a program of integers alone, where nothing is rounded, unless one was given.
fn tolerance(module: &Module, given: Tolerance) -> Tolerance {
    let program = module.program();
    let mut rounds = false;
    program.walk(program.body(), &mut |op| {
        let mut types = program.view(op).operand_types().chain(program.view(op).result_types());
        rounds |= types.any(|ty| ty.tensor().is_some_and(|t| t.element.epsilon() > 0.0));
    });
    if rounds || given != Tolerance::default() { given } else { Tolerance { relative: Some(0.0), absolute: Some(0.0) } }
}

/// Reports what stayed undecided if the time was over before rounding explained every difference.
fn unfinished(judged: &Judged) -> Vec<String> {
    if !judged.stopped {
        return Vec::new();
    }
    let (undecided, all) = judged.found.iter().flatten().fold((0, 0), |(u, a), f| (u + f.undecided, a + f.total));
    let runs = judged.runs;
    vec![format!(
        "rounding was measured {runs} times in the time, which left {undecided} of {all} elements undecided: rounding \
        may or may not explain them"
    )]
}

/// Estimates the duration of a check in which nothing differs. Products count once in the reference evaluator and
/// several times in f32; everything else counts by the bytes that it moves.
fn expected(device: &Module) -> Duration {
    let (replicas, partitions) = replicas_and_partitions(device.program());
    let devices = (replicas * partitions) as f64;
    let estimate = estimate(device.program(), &Machine::flat(Flat::default()));
    let seconds = devices * (estimate.flops / EVALUATED_FLOPS + estimate.memory_traffic / EVALUATED_BYTES);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// FLOP/s of products in a check, over all its evaluations.
const EVALUATED_FLOPS: f64 = 2e9;
/// Bytes/s that the ops of the checked program read and write.
const EVALUATED_BYTES: f64 = 5e7;

/// Returns whether the reference evaluator runs a program within seconds, judging by the FLOPs of its products and its
/// memory traffic.
fn small_enough(device: &Module) -> bool {
    let (replicas, partitions) = replicas_and_partitions(device.program());
    let devices = (replicas * partitions) as f64;
    let estimate = estimate(device.program(), &Machine::flat(Flat::default()));
    estimate.flops * devices <= 2e8 && estimate.memory_traffic * devices <= 2e9
}

/// The options by which results are compared.
#[derive(Clone, Copy)]
pub(crate) struct Judging<'a> {
    pub(crate) tolerance: Tolerance,
    pub(crate) limits: Limits,
    pub(crate) progress: &'a CheckProgress,
}

/// Compares the results of a program of global values, produced by any backend, with those of the reference evaluator.
pub(crate) fn judge_against(
    module: &Module,
    inputs: &[Vec<Literal>],
    got: &[Vec<Literal>],
    want: &[Vec<Literal>],
    judging: Judging<'_>,
) -> Judged {
    let disturbed = |seed| {
        judging.progress.enter(&format!("measuring rounding, evaluation {seed} of at most {RUNS}"));
        reference::evaluate_disturbed(module.program(), inputs, judging.limits, seed).ok()
    };
    let rounding = Rounding { undisturbed: &|| Some(want.to_vec()), disturbed: &disturbed };
    judge(got, want, tolerance(module, judging.tolerance), &rounding)
}
