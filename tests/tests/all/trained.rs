//! Random training steps: native runs in shards are never reported as wrong, however much they amplify rounding; and
//! faults planted in their per-device programs are found.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds; `make trained COUNT=…` runs many in an optimized build.

use std::cell::Cell;

use dialect::diagnostic::Diagnostics;
use dialect::ir::build::Builder;
use dialect::ir::{ElementType, Op, Program, Value};
use dialect::ops::{build, func};
use dialect::scalar::{Comparison, Scalar};
use passes::options::Options;
use passes::{Effect, Pass, Stage, partition};
use shardc::{Backend, CompileOptions, Compiler, Literal, Module, Source, Tolerance};
use shardc_tests::sharded::{Values, module_and_inputs, number, results, value};
use shardc_tests::training::step;

/// The relative error of a value with a planted fault.
const WRONG: f64 = 1e-3;
/// The threshold above which a planted fault must be found: the change of an element relative to itself and to a
/// typical element.
const SEEN: f64 = 2e-4;
/// The factor by which a fault's change must exceed that of rounding. One sample of rounding is rarely the largest, and
/// four times the largest is allowed.
const ROUNDED: f64 = 64.0;

thread_local! {
    /// The seed of the fault that the next compilation plants.
    static FAULT: Cell<Option<u64>> = const { Cell::new(None) };
    /// The description of the planted fault.
    static PLANTED: Cell<&'static str> = const { Cell::new("") };
}

/// Partitions, and plants a fault.
static FAULTY: Pass = Pass {
    name: "partition",
    doc: "Partitions, with a fault.",
    effect: Effect::Reach(Stage::Partitioned),
    options: &[],
    run: |program: &mut Program, _: &Options, diagnostics: &mut Diagnostics| {
        partition::partition(program, diagnostics);
        if let Some(seed) = FAULT.get() {
            PLANTED.set(plant(program, &mut fastrand::Rng::with_seed(seed)));
        }
    },
};

/// Plants a fault and describes it.
fn plant(program: &mut Program, random: &mut fastrand::Rng) -> &'static str {
    let main = func::function(program, "main").expect("there is @main");
    let block = func::block(program, main).expect("it has a body");
    let devices = func::num_partitions(program).max(1);
    let device = random.i64(..devices);
    let ops: Vec<Op> = program.block_ops(block).to_vec();
    let named = |program: &Program, names: &[&str]| -> Vec<Op> {
        ops.iter().copied().filter(|&op| names.iter().any(|n| program.op_name(op).ends_with(n))).collect()
    };
    let floats = |program: &Program, op: Op| {
        let results: Vec<Value> = program.results(op).collect();
        let ty = results.first().and_then(|&v| program.tensor_type(v));
        results.len() == 1
            && ty.is_some_and(|t| t.element.is_float())
            && program.view(op).def().constant(program.view(op)).is_none()
    };
    let summing: Vec<Op> = named(program, &[".all_reduce", ".reduce_scatter"]);
    let slices = named(program, &[".dynamic_slice"]);
    let sums: Vec<Op> = named(program, &[".reduce", ".dot_general", ".all_reduce"]);
    let any: Vec<Op> = ops.iter().copied().filter(|&op| floats(program, op)).collect();
    let pick = |list: &[Op], random: &mut fastrand::Rng| list[random.usize(..list.len())];
    match random.u8(..5) {
        0 if !summing.is_empty() => {
            let op = pick(&summing, random);
            let operand = program.op(op).operands[0];
            let (made, wrong) = scaled(program, op, operand, 0.0, Some(device));
            program.op_mut(op).operands[0] = wrong;
            splice(program, op, made, 0);
            "a member that a collective misses"
        }
        1 if !slices.is_empty() => {
            let op = pick(&slices, random);
            let start = program.op(op).operands[1];
            let loc = program.op(op).loc;
            let element = program.tensor_type(start).map_or(ElementType::I32, |t| t.element);
            let mut made = Vec::new();
            let mut b = Builder::new(program, &mut made, loc);
            let one = build::scalar(&mut b, element, Scalar::Int(1));
            let wrong = build::add(&mut b, start, one);
            program.op_mut(op).operands[1] = wrong;
            splice(program, op, made, 0);
            "an offset"
        }
        2 if sums.iter().any(|&op| floats(program, op)) => {
            let sums: Vec<Op> = sums.iter().copied().filter(|&op| floats(program, op)).collect();
            scale_result(program, pick(&sums, random), None);
            "a sum"
        }
        3 => {
            scale_result(program, pick(&any, random), Some(device));
            "a value on one device"
        }
        _ => {
            scale_result(program, pick(&any, random), None);
            "a value"
        }
    }
}

fn scale_result(program: &mut Program, op: Op, device: Option<i64>) {
    let right = program.result(op, 0);
    let (made, wrong) = scaled(program, op, right, 1.0 + WRONG, device);
    for other in program.ops_under(program.body()) {
        if !made.contains(&other) {
            program.op_mut(other).operands.iter_mut().filter(|v| **v == right).for_each(|v| *v = wrong);
        }
    }
    splice(program, op, made, 1);
}

/// Multiplies a value by `by`, on one device or on all.
fn scaled(program: &mut Program, at: Op, value: Value, by: f64, device: Option<i64>) -> (Vec<Op>, Value) {
    let loc = program.op(at).loc;
    let ty = program.tensor_type(value).expect("a tensor").clone();
    let mut made = Vec::new();
    let mut b = Builder::new(program, &mut made, loc);
    // Narrow types can't represent a factor close to 1.
    let mut wide = build::convert(&mut b, value, ElementType::F64);
    let mut factor = build::scalar(&mut b, ElementType::F64, Scalar::Float(by));
    if let Some(device) = device {
        let (id, one) =
            (build::collective::partition_id(&mut b), build::scalar(&mut b, ElementType::F64, Scalar::Float(1.0)));
        let this = build::scalar(&mut b, ElementType::UI32, Scalar::Int(device.into()));
        let here = build::compare(&mut b, Comparison::Eq, id, this);
        factor = build::select(&mut b, here, factor, one);
    }
    let factor = build::shape::splat(&mut b, factor, &ty.shape);
    wide = build::multiply(&mut b, wide, factor);
    let wrong = build::convert(&mut b, wide, ty.element);
    (made, wrong)
}

/// Inserts ops before `op`, or after it if `behind` is 1.
fn splice(program: &mut Program, op: Op, made: Vec<Op>, behind: usize) {
    let main = func::function(program, "main").expect("there is @main");
    let block = func::block(program, main).expect("it has a body");
    let mut all = program.block_ops(block).to_vec();
    let at = all.iter().position(|&o| o == op).expect("it is in the block") + behind;
    all.splice(at..at, made);
    program.set_block_ops(block, all);
}

/// A program with its expected results.
struct Trained {
    module: Module,
    inputs: Values,
    want: Values,
}

impl Trained {
    fn of(compiler: &Compiler, seed: u64, element: &'static str) -> Self {
        let name = format!("step {seed} in {element}");
        let (module, inputs) = module_and_inputs(compiler, &name, step(seed, element), seed);
        let want = value(name, compiler.evaluate(&module, &inputs));
        Self { module, inputs, want }
    }

    /// Returns the results in shards, and those that are reported as different.
    fn in_shards(&self, compiler: &Compiler, backend: Backend) -> (Values, Vec<String>) {
        let name = &self.module.source().name;
        let device = value(name, compiler.compile(self.module.clone(), "compile", &CompileOptions::default()));
        let got = results(name, compiler, &device, &self.inputs, backend);
        let found = compiler.compare_results(&device, &self.inputs, &got, &self.want, Tolerance::default());
        let said = |r: &shardc::CheckedResult| format!("result {}: {}", r.index, r.comparison.text("equal"));
        (got, found.iter().filter(|r| !r.equal).map(said).collect())
    }
}

/// Returns the largest change of an element from its expected value, relative to itself and to a typical element.
/// Changes that rounding could cause don't count: a gradient that `exact`, the results without rounding, show to be 0
/// may be any tiny number.
fn change(want: &[Vec<Literal>], got: &[Vec<Literal>], exact: &[Vec<Literal>]) -> f64 {
    let numbers = |l: &Literal| (0..l.len()).map(|i| l.get(i).as_f64()).collect::<Vec<f64>>();
    let median = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    let one = |((want, got), exact): ((&Literal, &Literal), &Literal)| {
        let (want, got, exact) = (numbers(want), numbers(got), numbers(exact));
        let rounding: Vec<f64> = want.iter().zip(&exact).map(|(want, exact)| (want - exact).abs()).collect();
        let (typical, common) = (median(want.iter().map(|v| v.abs()).collect()), median(rounding.clone()));
        let changes = want.iter().zip(&got).zip(&rounding).map(|((want, got), rounding)| {
            let change = (want - got).abs();
            if change > ROUNDED * rounding.max(common) { change / want.abs().max(typical) } else { 0.0 }
        });
        changes.filter(|c| c.is_finite()).fold(0.0, f64::max)
    };
    want.iter().flatten().zip(got.iter().flatten()).zip(exact.iter().flatten()).map(one).fold(0.0, f64::max)
}

/// Returns the results of an f32 step computed in f64.
fn exactly(compiler: &Compiler, seed: u64, inputs: &[Vec<Literal>]) -> Values {
    let text = step(seed, "f32").replace("f32", "f64");
    let module = value(seed, compiler.parse(Source::new("step in f64", text)));
    let wide = |l: &Literal| Literal::from_scalars(ElementType::F64, &l.shape, (0..l.len()).map(|i| l.get(i)));
    let inputs: Values = inputs.iter().map(|all| all.iter().map(wide).collect()).collect();
    value(seed, compiler.evaluate(&module, &inputs))
}

#[test]
fn correct_training_steps_pass_and_planted_faults_are_found() {
    let (from, count) = (number("RANDOM_FROM", 0), number("RANDOM_PROGRAMS", 4));
    let right = Compiler::standard();
    let faulty = Compiler::standard().with_passes(&[&FAULTY]);
    let mut wrong = Vec::new();
    for element in ["f32", "bf16", "f16"] {
        let (mut alarms, mut found, mut seen, mut missed) = (0, 0, 0, Vec::new());
        for seed in from..from + count {
            let trained = Trained::of(&right, seed, element);
            let (_, faults) = trained.in_shards(&right, Backend::default());
            if !faults.is_empty() {
                alarms += 1;
                wrong.push(format!("step {seed} in {element} is right, but {}", faults.join("; ")));
            }
            FAULT.set(Some(seed));
            let (got, faults) = trained.in_shards(&faulty, Backend::Reference);
            FAULT.set(None);
            found += usize::from(!faults.is_empty());
            // In narrow types, a fault of this size is as small as rounding.
            if element != "f32" {
                continue;
            }
            let change = change(&trained.want, &got, &exactly(&right, seed, &trained.inputs));
            if change > SEEN {
                seen += 1;
                if faults.is_empty() {
                    missed.push(format!("step {seed}: {} that changes a result by {change:.1e}", PLANTED.get()));
                }
            }
        }
        println!(
            "{element}: {count} steps, {alarms} false alarms, {found} faults found, {seen} to be seen, missed {missed:#?}"
        );
        if !missed.is_empty() {
            wrong.push(format!("{} of {seen} are missed: {missed:#?}", missed.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn training_steps_contain_every_kind_of_layer() {
    let texts: Vec<String> = (0..100).map(|seed| step(seed, "f32")).collect();
    for op in ["tanh", "logistic", "maximum", "rsqrt", "exponential", "pad", "log", "batching_dims", "sqrt", "iota"] {
        let having = texts.iter().filter(|text| text.contains(op)).count();
        assert!(having >= 5, "{op} is in {having} of 100 steps");
    }
}
