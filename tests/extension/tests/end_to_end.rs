//! The extension in use: programs with its op are read, compiled, run and explained, for its target.

use std::sync::atomic::{AtomicUsize, Ordering};

use extension::compiler;
use shardc::{
    CompileOptions, Compiler, ExecuteOptions, ExplainOptions, Interface, Io, Made, Module, Rewrite, Source,
    random_inputs,
};

/// A model before ACME's pass: two layers, the second sharded over devices.
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
fn compiled_it_gives_what_the_model_gives() {
    let device = compiler().compile(model(), "acme", &options()).into_result().expect("a per-device program");
    let text = compiler().print(&device, Default::default());
    // The product is sharded along its contracting dimension, and its sum comes before the op, which isn't linear.
    assert!(text.contains("acme.softplus %arg0") || text.contains("tensor<8x16xf32>"), "{text}");
    assert!(text.find("all_reduce").expect("a sum") < text.rfind("acme.softplus").expect("the op"), "{text}");
    let inputs = random_inputs(&Interface::of(&model()).expect("tensors").arguments, 3, 1);
    let ran = compiler().execute(&device, &inputs, &ExecuteOptions::default()).into_result().expect("results");
    let want = compiler().evaluate(&model(), &inputs).into_result().expect("results");
    // Sums of 64 elements in f32, in another order than the evaluator's, which sums in f64.
    let tolerance = shardc::Tolerance { relative: Some(1e-5), absolute: Some(1e-6) };
    let compared = shardc::compare(&ran.results[0][0], &want[0][0], tolerance, None);
    assert!(compared.equal(), "{compared:?}");
    let checked = compiler()
        .check(&model(), &inputs, &options(), Default::default(), Default::default())
        .into_result()
        .expect("a check");
    assert!(checked.equal(), "{checked:?}");
}

/// Counts the steps that the plan search considers, and adds only the class itself, which changes nothing.
static WATCH: Rewrite = Rewrite::new("acme_watch", "x = x", |_, class, made| {
    LOOKS.fetch_add(usize::from(matches!(made, Made::Step { .. })), Ordering::Relaxed);
    vec![class]
});
static LOOKS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn the_rewrites_take_part_in_the_search() {
    let compile = |compiler: Compiler| {
        let device = compiler.compile(model(), "acme", &options()).into_result().expect("a per-device program");
        compiler.print(&device, Default::default())
    };
    assert_eq!(compile(compiler().with_rewrites(&[&WATCH])), compile(compiler()));
    assert!(LOOKS.load(Ordering::Relaxed) > 0);
}

#[test]
fn the_target_prices_it() {
    let device = compiler().compile(model(), "acme", &options()).into_result().expect("a per-device program");
    let cost = compiler().estimate(&device, &options()).into_result().expect("a price");
    let [sum] = &cost.collectives[..] else { panic!("{cost:?}") };
    // Computed by hand: 1 KiB on a ring of four, three quarters of it there and back at 5 GB/s, after 20 us.
    assert_eq!((cost.target.as_str(), sum.kind, sum.axes[0].as_str()), ("acme-box", "all_reduce", "x"));
    assert!((sum.time_s - (20e-6 + 2.0 * 0.75 * 1024.0 / 5e9)).abs() < 1e-12, "{sum:?}");
    let explained = compiler().explain(model(), &ExplainOptions { compile: options(), tries: Some(4) });
    let explained = explained.into_result().expect("an explanation");
    let [sum] = &explained.collectives[..] else { panic!("{explained:?}") };
    assert_eq!((explained.target.as_str(), sum.user.as_deref()), ("acme-box", Some("acme.softplus")));
    assert!(sum.removal.as_ref().is_some_and(|r| r.saves_s > 0.0), "{sum:?}");
    let other = CompileOptions { target: Some("acme-bocks".to_owned()), ..CompileOptions::default() };
    let fault = compiler().compile(model(), "compile", &other).into_result().err().expect("no such target");
    assert!(fault.to_string().contains("unknown target `acme-bocks` (`acme-box`, `flat`"), "{fault}");
}

#[test]
fn the_command_line_is_theirs_too() {
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
