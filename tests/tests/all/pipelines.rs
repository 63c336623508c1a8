//! Programs over several meshes give the same results as on one device: split into fragments, partitioned, in any order
//! of microbatches, and as one program of all devices. The model of a pipeline agrees with the formula for its bubble.

mod programs;

use std::fmt::Write;

use fastrand::Rng;
use shardc::{Backend, CheckOptions, CompileOptions, Compiler, Microbatches, Module, PipelineCost, Source};
use shardc_tests::sharded::{self, BACKENDS, module_and_inputs, results};

pub(crate) use programs::transformer;
use programs::{Pipeline, training_step};

const SCHEDULES: [&str; 4] = ["program", "gpipe", "1f1b", "interleaved"];

fn done<T>(outcome: shardc::Outcome<T>) -> T {
    sharded::done(outcome).unwrap_or_else(|fault| panic!("{fault}"))
}

fn module(compiler: &Compiler, text: String) -> Module {
    done(compiler.parse(Source::new("pipeline.mlir", text)))
}

#[test]
fn each_pass_for_pipelines_keeps_the_results_of_one_device() {
    let compiler = Compiler::standard();
    for seed in 0..8 {
        let pipeline = Pipeline::random(seed);
        let schedule = SCHEDULES[seed as usize % SCHEDULES.len()];
        let (program, inputs) = module_and_inputs(&compiler, "pipeline.mlir", pipeline.text(), seed);
        let expected = done(compiler.evaluate(&program, &inputs));
        let mut made = program;
        for pass in ["mpmd-assign", "mpmd-partition", &format!("mpmd-schedule{{schedule={schedule}}}")] {
            made = done(compiler.run_passes(made, pass));
            assert_eq!(done(compiler.evaluate(&made, &inputs)), expected, "seed {seed} after {pass}");
        }
        let made = done(compiler.run_passes(made, "mpmd-spmd,check-spmd"));
        for &backend in BACKENDS {
            assert_eq!(results(seed, &compiler, &made, &inputs, backend), expected, "seed {seed} by {backend:?}");
        }
    }
}

#[test]
fn the_modelled_bubble_agrees_with_the_formula() {
    let compiler = Compiler::standard();
    for (stages, microbatches, backward) in [(4, 1, false), (4, 8, false), (2, 6, true), (4, 8, true), (4, 16, true)] {
        let meshes = vec!["<[\"x\"=1]>".to_owned(); stages];
        let pipeline = Pipeline {
            meshes,
            stages,
            microbatches,
            rows: 65_536,
            width: 524_288,
            element: "f32",
            shardings: Vec::new(),
            backward,
        };
        let program = module(&compiler, pipeline.text());
        let program = done(compiler.run_passes(program, "mpmd-assign,mpmd-partition"));
        let mut peaks = Vec::new();
        for schedule in ["gpipe", "1f1b"] {
            let made =
                done(compiler.run_passes(program.clone(), &format!("mpmd-schedule{{schedule={schedule}}},mpmd-spmd")));
            let cost = done(compiler.estimate(&made, &CompileOptions::default()));
            let pipeline = cost.pipeline.expect("a pipeline");
            let (p, m) = (stages as f64, microbatches as f64);
            let formula = (p - 1.0) / (m + p - 1.0);
            let of = format!("{stages} stages, {microbatches} microbatches, {schedule}");
            assert!((pipeline.bubble - formula).abs() < 0.02, "{of}: {} for {formula}", pipeline.bubble);
            peaks.push(pipeline.meshes[1].peak_bytes);
        }
        // With one forward and one backward in turn, a later mesh holds only the microbatches in flight.
        if backward && microbatches > stages {
            assert!(peaks[1] < peaks[0], "{peaks:?}");
        }
    }
}

#[test]
fn a_transformer_of_four_stages_trains_as_on_one_device() {
    let compiler = Compiler::standard();
    let (program, inputs) = module_and_inputs(&compiler, "transformer.mlir", transformer(), 7);
    let check = done(compiler.check(&program, &inputs, &CompileOptions::default(), &CheckOptions::default()));
    assert_eq!(check.results.len(), 25);
    assert!(check.equal(), "{check:?}");
}

#[test]
fn microbatches_give_the_results_of_the_whole_batch() {
    let compiler = Compiler::standard();
    for seed in 0..6 {
        let mut random = Rng::with_seed(seed);
        let (program, inputs) = module_and_inputs(&compiler, "pipeline.mlir", training_step(&mut random), seed);
        let expected = done(compiler.evaluate(&program, &inputs));
        let (count, given) = [(2, "2"), (8, "8"), (0, "auto")][seed as usize % 3];
        let cut = done(compiler.run_passes(program.clone(), &format!("mpmd-microbatch{{microbatches={given}}}")));
        assert_eq!(done(compiler.evaluate(&cut, &inputs)), expected, "seed {seed}, {given} microbatches");
        // Every stage computes its products for each microbatch, forward and backward.
        let products = |module: &Module| compiler.print(module, Default::default()).matches("dot_general").count();
        let (products, before) = (products(&cut), products(&program));
        assert!(count == 0 || products == count * before, "{products} products of {before}, {given} microbatches");
        let made = done(compiler.run_passes(cut, "several-meshes"));
        let found = results(seed, &compiler, &made, &inputs, Backend::default());
        assert_eq!(found, expected, "seed {seed}, {given} microbatches");
    }
}

#[test]
fn auto_chooses_microbatches_by_time_and_memory() {
    let compiler = Compiler::standard();
    let (rows, weight) = ("tensor<65536x8192xf32>", "tensor<8192x8192xf32>");
    let mut text = format!(
        "func.func @main(%x: {rows}, %w0: {weight}, %w1: {weight}) -> ({weight}, {weight}) \
         attributes {{topology = #mpmd.topology<<\"m0\": <[\"x\"=1]>>, <\"m1\": <[\"x\"=1]>>>}} {{\n"
    );
    for (s, from) in [(0, "%x"), (1, "%a0")] {
        let _ = writeln!(
            text,
            "%a{s} = mpmd.named_computation<\"s{s}\"> ({from}, %w{s}) (%p: {rows}, %q: {weight}) {{
               %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : ({rows}, {weight}) -> {rows}
               mpmd.return %r : {rows} }} : ({rows}, {weight}) -> {rows}"
        );
    }
    for (s, to, from, with) in [(1, "%d1", "%a1", "%a0"), (0, "%d0", "%d1", "%x")] {
        let _ = writeln!(
            text,
            "%g{s}, {to} = mpmd.named_computation<\"s{s}\"(1)> ({with}, {from}, %w{s}) (%p: {rows}, %o: {rows}, %q: {weight}) {{
               %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : ({rows}, {rows}) -> {weight}
               %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : ({rows}, {weight}) -> {rows}
               mpmd.return %r, %t : {weight}, {rows} }} : ({rows}, {rows}, {weight}) -> ({weight}, {rows})"
        );
    }
    let _ = writeln!(text, "return %g0, %g1 : {weight}, {weight}\n}}");
    let program = module(&compiler, text);
    let cost = |microbatches: Option<Microbatches>, memory: Option<u64>| {
        let options = CompileOptions { microbatches, memory, ..CompileOptions::default() };
        let made = done(compiler.compile(program.clone(), "several-meshes", &options));
        let cost = done(compiler.estimate(&made, &options));
        (cost.pipeline.expect("a pipeline"), cost.step_s)
    };
    let peak = |p: &PipelineCost| p.meshes.iter().map(|m| m.peak_bytes).max().unwrap_or(0);
    // With a single batch, two stages wait for each other half of the time; with microbatches they work at the same
    // time.
    let ((one, alone), (auto, overlapped)) = (cost(None, None), cost(Some(Microbatches::Auto), None));
    assert!(one.bubble > 0.45 && auto.bubble < 0.25, "{} {}", one.bubble, auto.bubble);
    assert!(overlapped < 0.75 * alone, "{overlapped} {alone}");
    // If the whole batch doesn't fit into memory, microbatches do.
    let limit = peak(&one) * 8 / 10;
    let (short, _) = cost(Some(Microbatches::Auto), Some(limit));
    assert!(peak(&short) <= limit, "{} of {limit}", peak(&short));
}

/// Tests meshes of any devices, some of which belong to several meshes, and a value that moves from one to the other.
#[test]
fn values_move_between_meshes_of_any_devices() {
    let compiler = Compiler::standard();
    for seed in 0..12 {
        let mut random = Rng::with_seed(seed);
        let devices = random.usize(3..9);
        let mut text = format!("module attributes {{mhlo.num_partitions = {devices} : i32}} {{\n");
        let count = random.usize(2..5);
        let mut axes = Vec::new();
        for m in 0..count {
            let mut ids: Vec<usize> = (0..devices).collect();
            random.shuffle(&mut ids);
            let sizes: &[usize] = [&[][..], &[2], &[3], &[2, 2]][random.usize(0..if devices > 3 { 4 } else { 3 })];
            ids.truncate(sizes.iter().product());
            let named: Vec<String> = sizes.iter().zip(["x", "y"]).map(|(n, name)| format!("\"{name}\"={n}")).collect();
            let ids: Vec<String> = ids.iter().map(usize::to_string).collect();
            let _ = writeln!(text, "sdy.mesh @m{m} = <[{}], device_ids=[{}]>", named.join(", "), ids.join(", "));
            axes.push(sizes.len());
        }
        let ty = "tensor<12x12xi32>";
        let mut sharding = |m: usize| {
            let dims = match axes[m] {
                0 => "[]",
                1 => ["[{\"x\"}, {}]", "[{}, {\"x\"}]", "[{}, {}]"][random.usize(0..3)],
                _ => ["[{\"x\"}, {\"y\"}]", "[{\"y\", \"x\"}, {}]", "[{}, {\"y\"}]"][random.usize(0..3)],
            };
            format!("<@m{m}, {dims}>")
        };
        let attribute = |sharding: String| format!("{{sdy.sharding = #sdy.sharding{sharding}}}");
        let (a, b, out) =
            (attribute(sharding(0)), attribute(sharding(count - 1)), attribute(sharding(seed as usize % count)));
        let _ = writeln!(text, "func.func @main(%v0: {ty} {a}, %b: {ty} {b}) -> ({ty} {out}, {ty}) {{");
        for step in 0..4 {
            let on = sharding((step + seed as usize) % count);
            let _ = writeln!(
                text,
                "%c{step} = sdy.sharding_constraint %v{step} {on} : {ty}
                 %t{step} = stablehlo.transpose %c{step}, dims = [1, 0] : ({ty}) -> {ty}
                 %v{} = stablehlo.add %t{step}, %b : {ty}",
                step + 1
            );
        }
        let _ = writeln!(text, "return %v4, %v2 : {ty}, {ty}\n}}\n}}");
        let (program, inputs) = module_and_inputs(&compiler, "pipeline.mlir", text, seed);
        let expected = done(compiler.evaluate(&program, &inputs));
        let made = done(compiler.compile(program, "compile", &CompileOptions::default()));
        for &backend in BACKENDS {
            assert_eq!(results(seed, &compiler, &made, &inputs, backend), expected, "seed {seed} by {backend:?}");
        }
    }
}
