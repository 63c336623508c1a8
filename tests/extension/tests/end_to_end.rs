//! The extension in use: programs with its op are parsed, compiled, run and explained, for its target.

use std::sync::atomic::{AtomicUsize, Ordering};

use extension::compiler;
use shardc::dialect;
use shardc::dialect::sharding::Reshard;
use shardc::{
    CollectiveLoad, CompileOptions, Compiler, CostModel, Derivation, Effect, ExecuteOptions, ExplainOptions, Interface,
    Io, Module, Pass, Precision, Rewrite, Source, random_inputs,
};

/// A model before ACME's pass: two layers, with the second sharded over devices.
const MODEL: &str = r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.exponential %x : tensor<8x64xf32>
  %1 = stablehlo.log_plus_one %0 : tensor<8x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %3 = acme.softplus %2 : tensor<8x32xf32>
  return %3 : tensor<8x32xf32>
}
"#;

fn model() -> Module {
    compiler().parse(Source::new("model.mlir", MODEL)).into_result().expect("a program")
}

fn options() -> CompileOptions {
    CompileOptions { target: Some("acme-box".to_owned()), ..CompileOptions::default() }
}

#[test]
fn the_op_keeps_what_ops_promise() {
    assert_eq!(dialect::proofs::prove(&[&extension::SOFTPLUS], compiler().ops()), Ok(2));
}

#[test]
fn the_pass_makes_the_op_and_the_pipeline_runs_it() {
    let fused = compiler().run_passes(model(), "acme-fuse").into_result().expect("a fused program");
    let text = compiler().print(&fused, Default::default());
    assert_eq!(text.matches("acme.softplus").count(), 2, "{text}");
    assert!(!text.contains("log_plus_one"), "{text}");
    let again = compiler().parse(Source::new("again.mlir", text.clone())).into_result().expect("it is read again");
    assert_eq!(compiler().print(&again, Default::default()), text);
}

#[test]
fn the_compiled_model_gives_the_same_results() {
    let device = compiler().compile(model(), "acme", &options()).into_result().expect("a per-device program");
    let text = compiler().print(&device, Default::default());
    // The product is sharded along its contracting dimension, and its sum comes before the op, which isn't linear.
    assert!(text.contains("acme.softplus %arg0") || text.contains("tensor<8x16xf32>"), "{text}");
    assert!(text.find("all_reduce").expect("a sum") < text.rfind("acme.softplus").expect("the op"), "{text}");
    let inputs = random_inputs(&Interface::of(&model()).expect("tensors").arguments, 3, 1);
    let ran = compiler().execute(&device, &inputs, &ExecuteOptions::default()).into_result().expect("results");
    let want = compiler().evaluate(&model(), &inputs).into_result().expect("results");
    // Sums of 64 elements in f32, in another order than in the evaluator, which sums in f64.
    let tolerance = shardc::Tolerance { relative: Some(1e-5), absolute: Some(1e-6) };
    let compared = shardc::compare(&ran.results[0][0], &want[0][0], tolerance, None);
    assert!(compared.equal(), "{compared:?}");
    let checked = compiler().check(&model(), &inputs, &options(), &Default::default()).into_result().expect("a check");
    assert!(checked.equal(), "{checked:?}");
}

/// Counts the steps that the plan search considers. It adds only the class itself, which changes nothing.
static WATCH: Rewrite = Rewrite::new("acme_watch", "x = x", |_, class, made| {
    LOOKS.fetch_add(usize::from(matches!(made, Derivation::Step { .. })), Ordering::Relaxed);
    vec![class]
});
static LOOKS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn the_rewrites_take_part_in_the_search() {
    let compile = |compiler: Compiler| {
        let device = compiler.compile(model(), "acme", &options()).into_result().expect("a per-device program");
        compiler.print(&device, Default::default())
    };
    let watched = compiler().with_rewrites(&[&WATCH]).expect("every class equals itself");
    LOOKS.store(0, Ordering::Relaxed);
    assert_eq!(compile(watched), compile(compiler()));
    assert!(LOOKS.load(Ordering::Relaxed) > 0);
}

/// Counts the calls of `schedule`, without scheduling anything.
static UNSCHEDULED: Pass = Pass {
    name: "schedule",
    doc: "Schedules nothing.",
    effect: Effect::Rewrite,
    options: &[],
    run: |_, _, _| {
        SCHEDULED.fetch_add(1, Ordering::Relaxed);
    },
};
static SCHEDULED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn plans_are_compared_by_the_embedders_passes() {
    let compiler = compiler().with_passes(&[&UNSCHEDULED]);
    compiler.compile(model(), "acme", &options()).into_result().expect("a per-device program");
    // Two calls for the full and the greedy plan, and one for the program itself.
    assert_eq!(SCHEDULED.load(Ordering::Relaxed), 3);
}

#[test]
fn the_target_prices_it() {
    let device = compiler().compile(model(), "acme", &options()).into_result().expect("a per-device program");
    let cost = compiler().estimate(&device, &options()).into_result().expect("a price");
    let [sum] = &cost.collectives[..] else { panic!("{cost:?}") };
    // Computed by hand: 1 KiB on a ring of four, of which three quarters are sent twice at 5 GB/s, after 20 us.
    assert_eq!((cost.target.as_str(), sum.kind, sum.axes[0].as_str()), ("acme-box", "all_reduce", "x"));
    assert!((sum.time_s - (20e-6 + 2.0 * 0.75 * 1024.0 / 5e9)).abs() < 1e-12, "{sum:?}");
    let explained = compiler().explain(model(), &ExplainOptions { compile: options(), tries: Some(4), budget: None });
    let explained = explained.into_result().expect("an explanation");
    let [sum] = &explained.collectives[..] else { panic!("{explained:?}") };
    assert_eq!((explained.target.as_str(), sum.user.as_deref()), ("acme-box", Some("acme.softplus")));
    assert!(sum.removal.as_ref().is_some_and(|r| r.saves_s > 0.0), "{sum:?}");
    let other = CompileOptions { target: Some("acme-bocks".to_owned()), ..CompileOptions::default() };
    let fault = compiler().compile(model(), "compile", &other).into_result().err().expect("no such target");
    assert!(
        fault.to_string().contains(
            "unknown target `acme-bocks` (did you mean `acme-boxes`? Targets are `acme-box`, `acme-boxes`, `flat`"
        ),
        "{fault}"
    );
}

/// A wrong rewrite: it moves partial sums through any op of one operand, even if the op isn't linear.
static UNTRUE: Rewrite = Rewrite::new("acme_untrue", "f(all_reduce x) = all_reduce(f x)", |plans, class, made| {
    let Derivation::Op { op, strategy, result, operands } = made else { return Vec::new() };
    let ([operand], Some(to)) = (&operands[..], plans.distribution(class).cloned()) else { return Vec::new() };
    let partial = plans.derivations(*operand).into_iter().find_map(|made| match made {
        Derivation::Step { kind: Reshard::AllReduce(..), from } => Some(from),
        _ => None,
    });
    let through = partial.and_then(|from| Some((from, plans.distribution(from)?.unreduced.clone())));
    let Some((from, through)) = through else { return Vec::new() };
    let mut early = strategy.clone();
    (early.set, early.through) = ([0].into_iter().collect(), through);
    let early = plans.computed(*op, early, *result, &[from]);
    vec![plans.moved(early, &to)]
});

#[test]
fn an_untrue_rewrite_is_refused() {
    let fault = compiler().with_rewrites(&[&UNTRUE]).err().expect("|a + b| is not |a| + |b|").to_string();
    assert!(fault.contains("acme_untrue: f(all_reduce x) = all_reduce(f x) doesn't hold"), "{fault}");
}

/// A wrong model, in which sending more takes less time.
#[derive(Debug)]
struct Backwards;

impl CostModel for Backwards {
    fn name(&self) -> &str {
        "acme-backwards"
    }
    fn collective_seconds(&self, load: &CollectiveLoad) -> f64 {
        if load.devices < 2 { 0.0 } else { 1.0 / (1.0 + load.moved_bytes()) }
    }
    fn peak_flops(&self, _: Precision) -> f64 {
        1e14
    }
    fn memory_bandwidth(&self) -> f64 {
        1e12
    }
    fn memory_bytes(&self) -> u64 {
        1 << 30
    }
}

#[test]
fn a_cost_model_prices_and_a_senseless_one_is_refused() {
    let options = CompileOptions { target: Some("acme-boxes".to_owned()), ..CompileOptions::default() };
    let device = compiler().compile(model(), "acme", &options).into_result().expect("a per-device program");
    let cost = compiler().estimate(&device, &options).into_result().expect("a price");
    let [sum] = &cost.collectives[..] else { panic!("{cost:?}") };
    // Computed by hand: 1 KiB among four devices of a box.
    assert_eq!(cost.target, "acme-boxes");
    assert!((sum.time_s - (2e-6 + 2.0 * 0.75 * 1024.0 / 200e9)).abs() < 1e-12, "{sum:?}");
    let fault = compiler().with_cost_model(&Backwards).err().expect("less for more").to_string();
    assert!(fault.starts_with("acme-backwards: collective_seconds") && fault.contains("less than"), "{fault}");
}

#[test]
fn the_command_line_has_the_embedders_ops_and_passes() {
    let shardc = |args: &[&str]| {
        let (mut out, mut err, mut stdin) = (Vec::new(), Vec::new(), MODEL.as_bytes());
        let io = Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
        let code = shardc::run_with(&compiler(), args.iter().copied(), io);
        assert_eq!(code, 0, "{}", String::from_utf8_lossy(&err));
        String::from_utf8(out).expect("text")
    };
    let help = shardc(&["opt", "--help"]);
    assert!(help.contains("acme-fuse") && help.contains("Compiles with the ops of ACME."), "{help}");
    let opt = shardc(&["opt", "--passes", "acme{search=greedy target=acme-box}", "-"]);
    assert!(opt.contains("stablehlo.all_reduce") && !opt.contains("exponential"), "{opt}");
    let cost = shardc(&["cost", "--target", "acme-box", "-"]);
    assert!(cost.starts_with("target acme-box: 4 devices, mesh \"x\"=4\n"), "{cost}");
}

/// The extension has its own folder of lit tests; `INSTA_UPDATE=always` writes snapshots.
#[test]
fn embedders_can_run_their_own_lit_tests() {
    assert_eq!(shardc_lit::Suite::new("lit").with_compiler(compiler).check(), Ok(1));
}
