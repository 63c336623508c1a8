//! Programs over several meshes give what they give on one device, taken apart, partitioned, in any order of
//! microbatches, and as one program of all devices; and the model of a pipeline agrees with the formula for its bubble.

use std::fmt::Write;

use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, HAS_NATIVE, Interface, Module, Source, random_inputs};
use shardc_tests::sharded;

const SCHEDULES: [&str; 4] = ["program", "gpipe", "1f1b", "interleaved"];

/// A pipeline: its meshes, its stages by name, its microbatches of `rows` rows of `width` numbers.
struct Pipeline {
    meshes: Vec<String>,
    stages: usize,
    microbatches: usize,
    rows: usize,
    width: usize,
    element: &'static str,
    /// How the input and each weight are sharded, as attributes.
    shardings: Vec<String>,
    backward: bool,
}

impl Pipeline {
    /// Products with a weight in each stage, and with `backward` what JAX makes of their derivatives, summed over the
    /// microbatches.
    fn text(&self) -> String {
        let &Self { stages, microbatches, rows, width, element, backward, .. } = self;
        let weight = format!("tensor<{width}x{width}x{element}>");
        let (part, whole) =
            (format!("tensor<{rows}x{width}x{element}>"), format!("tensor<{}x{width}x{element}>", rows * microbatches));
        let weights: Vec<String> = (0..stages).map(|s| format!("%w{s}")).collect();
        let given = |of: usize| if backward { vec![weight.clone(); of] } else { Vec::new() };
        let mut text = String::new();
        let sharded = |i: usize| self.shardings.get(i).cloned().unwrap_or_default();
        let arguments: Vec<String> =
            weights.iter().enumerate().map(|(s, w)| format!("{w}: {weight}{}", sharded(s + 1))).collect();
        let results = [vec![whole.clone()], given(stages)].concat().join(", ");
        let topology: Vec<String> = self.meshes.iter().enumerate().map(|(i, m)| format!("<\"m{i}\": {m}>")).collect();
        let _ = writeln!(
            text,
            "func.func @main(%x: {whole}{}, {}) -> ({results}) attributes {{topology = #mpmd.topology<{}>}} {{",
            sharded(0),
            arguments.join(", "),
            topology.join(", ")
        );
        let inner = [vec![part.clone()], given(stages)].concat().join(", ");
        let types = [vec![whole.clone()], vec![weight.clone(); stages]].concat().join(", ");
        for m in 0..microbatches {
            let _ = writeln!(
                text,
                "%r{m}:{} = mpmd.call @microbatch{m}(%x, {}) {{call_counter = {m} : ui32}} : ({types}) -> ({inner})",
                1 + given(stages).len(),
                weights.join(", ")
            );
        }
        let mut sums = Vec::new();
        for s in 0..given(stages).len() {
            let mut sum = format!("%r0#{}", s + 1);
            for m in 1..microbatches {
                let _ = writeln!(text, "%s{s}_{m} = stablehlo.add {sum}, %r{m}#{} : {weight}", s + 1);
                sum = format!("%s{s}_{m}");
            }
            sums.push(sum);
        }
        let parts: Vec<String> = (0..microbatches).map(|m| format!("%r{m}#0")).collect();
        let part_types = vec![part.clone(); microbatches].join(", ");
        let _ = writeln!(text, "%y = stablehlo.concatenate {}, dim = 0 : ({part_types}) -> {whole}", parts.join(", "));
        let returned = [vec!["%y".to_owned()], sums].concat().join(", ");
        let _ = writeln!(text, "return {returned} : {results}\n}}");
        for m in 0..microbatches {
            let takes: Vec<String> = weights.iter().map(|w| format!("{w}: {weight}")).collect();
            let _ =
                writeln!(text, "func.func private @microbatch{m}(%x: {whole}, {}) -> ({inner}) {{", takes.join(", "));
            let (from, to) = (m * rows, (m + 1) * rows);
            let _ = writeln!(text, "%a0 = stablehlo.slice %x [{from}:{to}, 0:{width}] : ({whole}) -> {part}");
            for s in 0..stages {
                let _ = writeln!(
                    text,
                    "%a{} = mpmd.named_computation<\"s{s}\"> (%a{s}, %w{s}) (%p: {part}, %q: {weight}) {{
                       %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : ({part}, {weight}) -> {part}
                       mpmd.return %r : {part} }} : ({part}, {weight}) -> {part}",
                    s + 1
                );
            }
            let mut given = vec![if backward { "%d0".to_owned() } else { format!("%a{stages}") }];
            if backward {
                let _ = writeln!(text, "%d{stages} = stablehlo.negate %a{stages} : {part}");
                for s in (0..stages).rev() {
                    let _ = writeln!(
                        text,
                        "%g{s}, %d{s} = mpmd.named_computation<\"s{s}\"(1)> (%a{s}, %d{}, %w{s}) (%p: {part}, %o: {part}, %q: {weight}) {{
                           %r = stablehlo.dot_general %p, %o, contracting_dims = [0] x [0] : ({part}, {part}) -> {weight}
                           %t = stablehlo.dot_general %o, %q, contracting_dims = [1] x [1] : ({part}, {weight}) -> {part}
                           mpmd.return %r, %t : {weight}, {part} }} : ({part}, {part}, {weight}) -> ({weight}, {part})",
                        s + 1
                    );
                }
                given.extend((0..stages).map(|s| format!("%g{s}")));
            }
            let _ = writeln!(text, "return {} : {inner}\n}}", given.join(", "));
        }
        text
    }

    /// One of few integers, on meshes of any sizes and orders of devices.
    fn random(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let sizes: [&[i64]; 4] = [&[1], &[2], &[2, 2], &[3]];
        let of: Vec<&[i64]> = (0..random.usize(1..4)).map(|_| sizes[random.usize(0..sizes.len())]).collect();
        let count = |of: &[i64]| of.iter().product::<i64>() as usize;
        let all: usize = of.iter().map(|of| count(of)).sum();
        let mut ids: Vec<usize> = (0..all + random.usize(0..2)).collect();
        if random.bool() {
            random.shuffle(&mut ids);
        }
        let in_order = ids.is_sorted();
        let mesh = |of: &&[i64]| {
            let axes: Vec<String> = of.iter().zip(["x", "y"]).map(|(n, name)| format!("\"{name}\"={n}")).collect();
            let own: Vec<String> = ids.drain(..count(of)).map(|id| id.to_string()).collect();
            let order = if in_order { String::new() } else { format!(", device_ids=[{}]", own.join(", ")) };
            format!("<[{}]{order}>", axes.join(", "))
        };
        let (stages, backward) = (random.usize(of.len()..5), random.bool());
        let shardings = (0..stages + 1).map(|_| String::new()).collect();
        let microbatches = random.usize(1..4);
        Self {
            meshes: of.iter().map(mesh).collect(),
            stages,
            microbatches,
            rows: 6,
            width: 12,
            element: "i32",
            shardings,
            backward,
        }
    }
}

fn done<T>(outcome: shardc::Outcome<T>) -> T {
    sharded::done(outcome).unwrap_or_else(|fault| panic!("{fault}"))
}

fn module(compiler: &Compiler, text: String) -> Module {
    done(compiler.parse(Source::new("pipeline.mlir", text)))
}

#[test]
fn every_step_gives_what_one_device_gives() {
    let compiler = Compiler::standard();
    for seed in 0..8 {
        let pipeline = Pipeline::random(seed);
        let schedule = SCHEDULES[seed as usize % SCHEDULES.len()];
        let program = module(&compiler, pipeline.text());
        let inputs = random_inputs(&Interface::of(&program).expect("tensors").arguments, seed, 1);
        let expected = done(compiler.evaluate(&program, &inputs));
        let mut made = program;
        for pass in ["mpmd-assign", "mpmd-partition", &format!("mpmd-schedule{{schedule={schedule}}}")] {
            made = done(compiler.run_passes(made, pass));
            assert_eq!(done(compiler.evaluate(&made, &inputs)), expected, "seed {seed} after {pass}");
        }
        let made = done(compiler.run_passes(made, "mpmd-spmd,check-spmd"));
        for backend in [Backend::Reference, Backend::Native] {
            if backend == Backend::Reference || HAS_NATIVE {
                let options = ExecuteOptions { backend, ..ExecuteOptions::default() };
                let found = done(compiler.execute(&made, &inputs, &options)).results;
                assert_eq!(found, expected, "seed {seed} by {backend:?}");
            }
        }
    }
}

#[test]
fn the_bubble_is_that_of_the_formula() {
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
        // With one forward and one backward in turn, a later mesh holds what is under way and not all microbatches.
        if backward && microbatches > stages {
            assert!(peaks[1] < peaks[0], "{peaks:?}");
        }
    }
}

/// Six weights of a transformer block; the block and its derivative are functions of `tests/pipeline/block.mlir`.
const WEIGHTS: [&str; 6] = [
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x16xf32>",
    "tensor<16x32xf32>",
    "tensor<32x16xf32>",
];

/// Four blocks on four meshes of two devices, each of which takes half of a microbatch: forward, backward from the
/// distance to a target, and the sum of gradients over two microbatches.
fn transformer() -> String {
    let (part, whole, ws) = ("tensor<4x8x16xf32>", "tensor<8x8x16xf32>", WEIGHTS.join(", "));
    let all = vec![ws.clone(); 4].join(", ");
    let names = |prefix: &str, m: usize| -> Vec<String> {
        (0..4).flat_map(|p| (0..6).map(move |i| (p, i))).map(|(p, i)| format!("%{prefix}{m}_{p}_{i}")).collect()
    };
    let weights = names("w", 0).join(", ");
    let takes = names("w", 0)
        .iter()
        .enumerate()
        .map(|(i, w)| format!("{w}: {}", WEIGHTS[i % 6]))
        .collect::<Vec<_>>()
        .join(", ");
    let meshes: Vec<String> = (0..4).map(|p| format!("<\"m{p}\": <[\"x\"=2]>>")).collect();
    let rows = "{sdy.sharding = #sdy.sharding<@m0, [{\"x\"}, {}, {}]>}";
    let mut text = format!(
        "func.func @main(%x: {whole} {rows}, %target: {whole}, {takes}) -> ({whole}, {all}) attributes {{topology = #mpmd.topology<{}>}} {{\n",
        meshes.join(", ")
    );
    for m in 0..2 {
        let _ = writeln!(
            text,
            "%y{m}, {} = mpmd.call @microbatch{m}(%x, %target, {weights}) {{call_counter = {m} : ui32}} : ({whole}, {whole}, {all}) -> ({part}, {all})",
            names("g", m).join(", ")
        );
    }
    for ((sum, one), (i, other)) in names("s", 0).iter().zip(names("g", 0)).zip(names("g", 1).iter().enumerate()) {
        let _ = writeln!(text, "{sum} = stablehlo.add {one}, {other} : {}", WEIGHTS[i % 6]);
    }
    let _ = writeln!(
        text,
        "%y = stablehlo.concatenate %y0, %y1, dim = 0 : ({part}, {part}) -> {whole}\nreturn %y, {} : {whole}, {all}\n}}",
        names("s", 0).join(", ")
    );
    let inside = WEIGHTS.iter().enumerate().map(|(i, w)| format!("%p{i}: {w}")).collect::<Vec<_>>().join(", ");
    let own = |p: usize| names("w", 0)[6 * p..6 * p + 6].join(", ");
    for m in 0..2 {
        let _ = writeln!(
            text,
            "func.func private @microbatch{m}(%x: {whole}, %target: {whole}, {takes}) -> ({part}, {all}) {{"
        );
        let rows = format!("[{}:{}, 0:8, 0:16] : ({whole}) -> {part}", 4 * m, 4 * m + 4);
        let _ = writeln!(text, "%a0 = stablehlo.slice %x {rows}\n%t = stablehlo.slice %target {rows}");
        for p in 0..4 {
            let _ = writeln!(
                text,
                "%a{} = mpmd.named_computation<\"stage{p}\"> ({}, %a{p}) ({inside}, %q: {part}) {{
                   %r = func.call @block(%p0, %p1, %p2, %p3, %p4, %p5, %q) : ({ws}, {part}) -> {part}
                   mpmd.return %r : {part} }} : ({ws}, {part}) -> {part}",
                p + 1,
                own(p)
            );
        }
        let _ = writeln!(text, "%d4 = stablehlo.subtract %a4, %t : {part}");
        for p in (0..4).rev() {
            let gradients: Vec<String> = (0..6).map(|i| format!("%g0_{p}_{i}")).collect();
            let _ = writeln!(
                text,
                "{}, %d{p} = mpmd.named_computation<\"stage{p}\"(1)> ({}, %a{p}, %d{}) ({inside}, %q: {part}, %d: {part}) {{
                   %r:7 = func.call @block_back(%p0, %p1, %p2, %p3, %p4, %p5, %q, %d) : ({ws}, {part}, {part}) -> ({ws}, {part})
                   mpmd.return %r#0, %r#1, %r#2, %r#3, %r#4, %r#5, %r#6 : {ws}, {part} }} : ({ws}, {part}, {part}) -> ({ws}, {part})",
                gradients.join(", "),
                own(p),
                p + 1
            );
        }
        let _ = writeln!(text, "return %a4, {} : {part}, {all}\n}}", names("g", 0).join(", "));
    }
    text + include_str!("../../pipeline/block.mlir")
}

#[test]
fn a_transformer_of_four_stages_trains_as_on_one_device() {
    let compiler = Compiler::standard();
    let program = module(&compiler, transformer());
    let interface = Interface::of(&program).expect("tensors");
    let inputs = random_inputs(&interface.arguments, 7, 1);
    let backend = if HAS_NATIVE { Backend::Native } else { Backend::Reference };
    let check = compiler.check(&program, &inputs, &CompileOptions::default(), backend, Default::default());
    let check = done(check);
    assert_eq!(check.results.len(), 25);
    assert!(check.equal(), "{check:?}");
}
