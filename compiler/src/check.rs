//! Checks that partitioning kept a program's meaning: runs the original and the partitioned program over the same
//! inputs. If results differ, both run again with the value of every op as a result, to find the first op that differs.

use dialect::ir::{AttrData, Program};
use dialect::kernel::{External, Kernel};
use dialect::literal::Literal;
use dialect::ops::{mhlo, sdy};
use dialect::sharding::Mesh;
use passes::estimate::{Flat, Machine, estimate};
use serde::Serialize;

use crate::compare::{Comparison, Tolerance};
use crate::compiler::{CompileOptions, Compiler, Watch};
use crate::culprit::Search;
use crate::diagnostic::Outcome;
use crate::execute::{Backend, ExecuteOptions, replicas_and_partitions, run_global};
use crate::module::Module;
use crate::rounding::judge;

/// How the partitioned program compares. Serialized, it is what `shardc check --json` prints.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// How each result of each replica compares.
    pub results: Vec<CheckedResult>,
    /// Source location of the first op whose value differs, when it is known.
    pub first_op: Option<String>,
    /// A sentence about the first difference.
    #[serde(skip)]
    pub culprit: Option<String>,
}

/// How one result compares with the expected one.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CheckedResult {
    /// Whether both are the same, floats within what rounding may do to each element.
    pub equal: bool,
    /// The largest difference, allowed or not; 0 if they are the same, infinite (`null` in JSON) if only one is NaN.
    pub max_error: f64,
    /// The index of the element with that difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error_at: Option<Vec<i64>>,
    /// The difference that is allowed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// How many elements differ by more than is allowed.
    pub count: usize,
    /// The replica it belongs to.
    #[serde(skip)]
    pub replica: usize,
    /// Its number among the results of `@main`.
    #[serde(skip)]
    pub index: usize,
    /// All about it.
    #[serde(skip)]
    pub comparison: Comparison,
}

impl CheckedResult {
    /// The results of each replica.
    fn all(compared: Vec<Vec<Comparison>>) -> Vec<Self> {
        let of = |(replica, compared): (usize, Vec<Comparison>)| {
            compared.into_iter().enumerate().map(move |(index, comparison)| {
                let largest = comparison.largest.as_ref();
                Self {
                    equal: comparison.equal(),
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
    /// Whether every result is equal.
    pub fn equal(&self) -> bool {
        self.results.iter().all(|r| r.equal)
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
        backend: Backend,
        tolerance: Tolerance,
    ) -> Outcome<Check> {
        let steps = self.steps("compile", options).map(|mut steps| {
            let at = steps.iter().position(|s| s.pass.name == "plan").map_or(steps.len(), |i| i + 1);
            let rest = steps.split_off(at);
            (steps, rest)
        });
        let (plan, rest) = match steps {
            Ok(steps) => steps,
            Err(faults) => return Outcome::new(module.source(), None, &faults),
        };
        let run = |module: Module, steps| self.run_steps(module, steps, &mut Watch::default());
        self.evaluable(module).and_then(|module| {
            let module = &module;
            run(module.clone(), &plan).and_then(|planned| {
                let device = run(planned.clone(), &rest);
                let execute = ExecuteOptions { backend, ..ExecuteOptions::default() };
                let got = device.and_then(|device| self.execute(&device, inputs, &execute));
                got.and_then(|got| {
                    self.evaluate(module, inputs).and_then(|want| {
                        let results = CheckedResult::all(judge_against(module, inputs, &got.results, &want, tolerance));
                        if results.iter().all(|r| r.equal) {
                            return Outcome::of(module.source(), Ok(Check { results, first_op: None, culprit: None }));
                        }
                        self.culprit(module, &planned, &rest, inputs, &want, tolerance)
                            .map(|(first_op, culprit)| Check { results, first_op, culprit: Some(culprit) })
                    })
                })
            })
        })
    }

    /// The program in a form that the reference evaluator knows: as it stands, imported if it is a `shard_map` from
    /// before Shardy, whose custom calls mean something only together, and with ops on one device alone written out where
    /// the numbers of devices are asked for, which one evaluation of everything doesn't have.
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

    /// Compares results of a program, compiled to `device`, with those expected for the same inputs: each element within
    /// the tolerance, or without one within what rounding can change it by. That is measured by evaluating the program,
    /// or for one that is too large estimated by the element type.
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
        let module = std::cell::OnceCell::new();
        let module = || module.get_or_init(global).as_ref();
        let undisturbed = || runtime::reference::evaluate_replicas(module()?.program(), inputs).ok();
        let disturbed = |seed| runtime::reference::evaluate_disturbed(module()?.program(), inputs, seed).ok();
        CheckedResult::all(judge(got, want, tolerance, undisturbed, disturbed))
    }

    /// The first op whose value differs: its source location, and a sentence about it.
    fn culprit(
        &self,
        module: &Module,
        planned: &Module,
        rest: &[passes::Step],
        inputs: &[Vec<Literal>],
        want: &[Vec<Literal>],
        tolerance: Tolerance,
    ) -> Outcome<(Option<String>, String)> {
        let (program, source) = (planned.program(), planned.source());
        let evaluate = |program: &Program| Outcome::of(source, run_global(program, inputs));
        evaluate(program).and_then(|planned_gives| {
            let found = judge_against(module, inputs, &planned_gives, want, tolerance);
            if found.iter().flatten().any(|c| !c.equal()) {
                let fault = "the planned program, run unpartitioned, differs already: a fault of the plan";
                return Outcome::of(source, Ok((None, fault.to_owned())));
            }
            let search = Search { compiler: self, planned, rest, inputs, tolerance };
            search.run().map(|found| match found {
                Some(culprit) => (Some(culprit.place), culprit.text),
                None => {
                    let fault = "no value between differs in the reference evaluator: a fault of native execution";
                    (None, fault.to_owned())
                }
            })
        })
    }
}

/// Whether the reference evaluator runs a program in seconds: by the FLOPs of its products and the bytes it touches.
fn small_enough(device: &Module) -> bool {
    let (replicas, partitions) = replicas_and_partitions(device.program());
    let devices = (replicas * partitions) as f64;
    let estimate = estimate(device.program(), &Machine::flat(Flat::default()));
    estimate.flops * devices <= 2e8 && estimate.memory_traffic * devices <= 2e9
}

/// Compares the results of a program of global values, however it was run, with those of the reference evaluator.
pub(crate) fn judge_against(
    module: &Module,
    inputs: &[Vec<Literal>],
    got: &[Vec<Literal>],
    want: &[Vec<Literal>],
    tolerance: Tolerance,
) -> Vec<Vec<Comparison>> {
    let disturbed = |seed| runtime::reference::evaluate_disturbed(module.program(), inputs, seed).ok();
    judge(got, want, tolerance, || Some(want.to_vec()), disturbed)
}
