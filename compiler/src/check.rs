//! Checks that partitioning kept a program's meaning: runs the original and the partitioned program over the same
//! inputs. If results differ, both run again with the value of every op as a result, to find the first op that differs.

use dialect::ir::{AttrData, Op, Program, Ty, Value};
use dialect::literal::Literal;
use dialect::ops::func;
use serde::Serialize;

use crate::compare::{Mismatch, Tolerance, compare};
use crate::compiler::{CompileOptions, Compiler, Watch};
use crate::diagnostic::Outcome;
use crate::execute::{Backend, ExecuteOptions, run_global};
use crate::module::Module;
use crate::place::place;

/// How the partitioned program compares. Serialized, it is what `shardc check --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// How each result of each replica compares.
    pub results: Vec<CheckedResult>,
    /// Source location of the first op whose value differs, when it is known.
    pub first_op: Option<String>,
    /// A sentence about the first difference.
    #[serde(skip)]
    pub culprit: Option<String>,
}

/// How one result compares.
#[derive(Clone, Debug, Serialize)]
pub struct CheckedResult {
    /// Whether both are the same, floats within the tolerance of their type.
    pub equal: bool,
    /// The largest difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// How many elements differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<usize>,
    /// The replica it belongs to.
    #[serde(skip)]
    pub replica: usize,
    /// Its number among the results of `@main`.
    #[serde(skip)]
    pub index: usize,
    /// Where it differs.
    #[serde(skip)]
    pub mismatch: Option<Mismatch>,
}

impl Check {
    /// Whether every result is equal.
    pub fn equal(&self) -> bool {
        self.results.iter().all(|r| r.equal)
    }
}

impl Compiler {
    /// Compiles a program, runs both the original and the partitioned program over the same global inputs of each
    /// replica, and compares every result.
    pub fn check(
        &self,
        module: &Module,
        inputs: &[Vec<Literal>],
        options: &CompileOptions,
        backend: Backend,
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
        run(module.clone(), &plan).and_then(|planned| {
            let device = run(planned.clone(), &rest);
            let execute = ExecuteOptions { backend, ..ExecuteOptions::default() };
            let got = device.and_then(|device| self.execute(&device, inputs, &execute));
            got.and_then(|got| {
                self.evaluate(module, inputs).and_then(|want| {
                    let results = results(&got.results, &want);
                    if results.iter().all(|r| r.equal) {
                        return Outcome::of(module.source(), Ok(Check { results, first_op: None, culprit: None }));
                    }
                    self.culprit(&planned, &rest, inputs, &want).map(|(first_op, culprit)| Check {
                        results,
                        first_op,
                        culprit: Some(culprit),
                    })
                })
            })
        })
    }

    /// The first op whose value differs: its source location, and a sentence about it.
    fn culprit(
        &self,
        planned: &Module,
        rest: &[passes::Step],
        inputs: &[Vec<Literal>],
        want: &[Vec<Literal>],
    ) -> Outcome<(Option<String>, String)> {
        let (program, source) = (planned.program(), planned.source());
        let evaluate = |program: &Program| Outcome::of(source, run_global(program, inputs));
        evaluate(program).and_then(|planned_gives| {
            if results(&planned_gives, want).iter().any(|r| !r.equal) {
                let fault = "the planned program, run unpartitioned, differs already: a fault of the plan";
                return Outcome::of(source, Ok((None, fault.to_owned())));
            }
            // Every value of @main becomes a result, in both programs.
            let (exposed, ops) = expose(program);
            evaluate(&exposed).and_then(|global| {
                let device = self.run_steps(planned.with_program(exposed), rest, &mut Watch::default());
                let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
                let shards = device.and_then(|device| self.execute(&device, inputs, &execute));
                shards.map(|shards| {
                    let first = (0..ops.len()).find_map(|i| {
                        let differs = |(global, shards): (&Vec<Literal>, &Vec<Literal>)| {
                            let at = global.len() - ops.len() + i;
                            compare(&shards[at], &global[at], Tolerance::default())
                        };
                        global.iter().zip(&shards.results).find_map(differs).map(|m| (ops[i], m))
                    });
                    let Some((op, mismatch)) = first else {
                        let fault = "no value between differs in the reference evaluator: a fault of native execution";
                        return (None, fault.to_owned());
                    };
                    let place = place(program, source, op).unwrap_or_else(|| "a place the compiler made".to_owned());
                    let (name, mismatch) = (program.op_name(op), mismatch.text());
                    let line = format!("the first op that differs is {name} at {place}: its value {mismatch}");
                    (Some(place), line)
                })
            })
        })
    }
}

/// Compares each result with the expected one, replica by replica.
fn results(got: &[Vec<Literal>], want: &[Vec<Literal>]) -> Vec<CheckedResult> {
    let of = |(replica, (got, want)): (usize, (&Vec<Literal>, &Vec<Literal>))| {
        let one = |(index, (got, want))| {
            let mismatch = compare(got, want, Tolerance::default());
            let (max_error, count) = mismatch.as_ref().map(|m| (m.max_error, m.count)).unzip();
            CheckedResult { equal: mismatch.is_none(), max_error, count, replica, index, mismatch }
        };
        got.iter().zip(want).enumerate().map(one).collect::<Vec<_>>()
    };
    got.iter().zip(want).enumerate().flat_map(of).collect()
}

/// The program with the value of every op of `@main` added to its results, and those ops in order.
fn expose(planned: &Program) -> (Program, Vec<Op>) {
    let mut program = planned.clone();
    let mut ops = Vec::new();
    let Some(main) = func::function(&program, "main") else { return (program, ops) };
    let Some(block) = func::block(&program, main) else { return (program, ops) };
    let Some(last) = program.terminator(block) else { return (program, ops) };
    let mut values: Vec<Value> = Vec::new();
    for &op in program.block_ops(block) {
        let results = program.results(op).filter(|&v| program.tensor_type(v).is_some());
        for value in results {
            values.push(value);
            ops.push(op);
        }
    }
    let signature = func::signature(&program, main);
    let (inputs, mut results): (Vec<Ty>, Vec<Ty>) = (signature.inputs.to_vec(), signature.results.to_vec());
    let old = results.len();
    results.extend(values.iter().map(|&v| program.value_type(v)));
    func::set_signature(&mut program, main, &inputs, &results);
    for (i, (&value, &op)) in values.iter().zip(&ops).enumerate() {
        let index = program.results(op).position(|v| v == value).unwrap_or(0);
        let sharding = match program.view(op).attr(func::SHARDING) {
            Some(AttrData::ShardingPerValue(all)) => all.get(index).cloned(),
            Some(AttrData::Sharding(one)) => Some(one.clone()),
            _ => None,
        };
        if let Some(sharding) = sharding {
            let attr = program.intern_attr(AttrData::Sharding(sharding));
            func::set_result_attr(&mut program, main, old + i, func::SHARDING, attr);
        }
    }
    program.op_mut(last).operands.extend(values);
    (program, ops)
}
