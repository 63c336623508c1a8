//! The cost model's memory per device equals what the runtime allocates for values: both use the same buffer plan.

use std::path::{Path, PathBuf};

use dialect::buffers::ALIGNMENT;
use dialect::diagnostic::Diagnostics;
use dialect::memory::MEMORY_KIND;
use dialect::ops::func;
use serde_json::Value;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::programs::program;
use shardc_tests::sharded::done;

/// Runs a program from a temporary file.
fn run_text(name: &str, text: &str) -> Value {
    let path = std::env::temp_dir().join(format!("shardc-{name}-{}.mlir", std::process::id()));
    std::fs::write(&path, text).expect("a folder to write to");
    let ran = run_json(&path.to_string_lossy());
    let _ = std::fs::remove_file(&path);
    ran
}

fn run_json(path: &str) -> Value {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin: &[u8] = b"";
    let io = shardc::Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(["run", "--repeat", "1", "--json", path], io);
    assert_eq!(code, 0, "{path}: {}", String::from_utf8_lossy(&err));
    let out = String::from_utf8(out).expect("text");
    serde_json::from_str(out.lines().last().expect("a last line")).expect("JSON")
}

#[test]
fn modelled_and_actual_memory_are_equal() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut folders: Vec<_> =
        std::fs::read_dir(&corpus).expect("the corpus").map(|e| e.expect("an entry").path()).collect();
    folders.retain(|f| f.is_dir());
    folders.sort();
    assert!(folders.len() >= 52, "only {} programs", folders.len());
    for folder in folders {
        let path = folder.join("program.mlir").to_string_lossy().into_owned();
        let ran = run_json(&path);
        let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("{path}: no {key} in {ran}"));
        assert!(bytes("peak_bytes") > 0, "{path}: {ran}");
        assert_eq!(bytes("modelled_peak_bytes"), bytes("peak_bytes"), "{path}");
        assert!(bytes("peak_bytes") <= bytes("arena_bytes"), "{path}: {ran}");
    }
}

#[test]
fn random_programs_allocate_the_modelled_memory() {
    let (compiler, mut ran) = (Compiler::standard(), 0);
    for seed in 0..40 {
        let text = program(seed);
        let module = done(compiler.parse(Source::new("program.mlir", text.as_str()))).expect("a program");
        let inputs = random_inputs(&Interface::of(&module).expect("an interface").arguments, 1, 1);
        let device = done(compiler.compile(module, "compile", &CompileOptions::default())).expect("compiles");
        let cost = done(compiler.estimate(&device, &CompileOptions::default())).expect("a cost");
        // Some element types have no native code.
        let Some(found) = compiler.execute(&device, &inputs, &ExecuteOptions::default()).value else { continue };
        assert_eq!(Some((cost.peak_bytes + cost.host_peak_bytes) as usize), found.peak_bytes, "seed {seed}\n{text}");
        assert!(found.peak_bytes <= found.arena_bytes, "seed {seed}\n{text}");
        ran += 1;
    }
    assert!(ran >= 30, "only {ran} programs ran natively");
}

/// A loop multiplies by the same matrix in every iteration, so its panels are made once, before the loop.
const LOOP: &str = "
func.func @main(%a: tensor<24x80xf32>, %b: tensor<80x80xf32>) -> tensor<24x80xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %l:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<24x80xf32>
  cond {
    %c = stablehlo.compare LT, %i, %seven : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %x, %b, contracting_dims = [1] x [1] : (tensor<24x80xf32>, tensor<80x80xf32>) -> tensor<24x80xf32>
    %y = stablehlo.tanh %p : tensor<24x80xf32>
    stablehlo.return %j, %y : tensor<i32>, tensor<24x80xf32>
  }
  return %l#1 : tensor<24x80xf32>
}
";

#[test]
fn panels_come_after_the_memory_of_values() {
    let ran = run_text("loop", LOOP);
    let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("no {key} in {ran}"));
    assert_eq!(bytes("modelled_peak_bytes"), bytes("peak_bytes"));
    // 80 columns in two panels of 64, each of 80 rows.
    let panels = 2 * 64 * 80 * 4;
    assert_eq!(bytes("arena_bytes"), bytes("peak_bytes").next_multiple_of(ALIGNMENT as u64) + panels, "{ran}");
}

/// A program whose arguments and results, every second one, are in the host's memory.
fn half_on_host(text: &str) -> String {
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    let main = func::function(&program, "main").expect("a main");
    let signature = func::signature(&program, main);
    let (inputs, results) = (signature.inputs.len(), signature.results.len());
    let kinds = ["pinned_host", "device"].map(|kind| program.attr_str(kind));
    let placed = |count: usize| (0..count).map(|i| (i, Some(kinds[i % 2]))).collect::<Vec<_>>();
    func::set_arg_attrs(&mut program, main, MEMORY_KIND, &placed(inputs));
    func::set_result_attrs(&mut program, main, MEMORY_KIND, &placed(results));
    dialect::print(&program)
}

/// Where values are in memory changes no result, and both memories together are what the runtime allocates.
#[test]
fn the_memory_of_devices_and_hosts_is_what_is_allocated_and_holds_the_same() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (compiler, mut placed) = (Compiler::standard(), 0);
    let folders = std::fs::read_dir(&corpus).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let program = |path: PathBuf| Some((std::fs::read_to_string(&path).ok()?, path.display().to_string()));
    let mut programs: Vec<_> = folders.filter_map(|folder| program(folder.join("program.mlir"))).collect();
    programs.sort_by_key(|(text, _)| text.len());
    // The larger ones take long.
    for (text, name) in programs.into_iter().take(32) {
        let run = |text: String| {
            let module = done(compiler.parse(Source::new(name.as_str(), text))).expect(&name);
            let interface = Interface::of(&module).expect(&name);
            let inputs = random_inputs(&interface.arguments, 1, interface.replicas);
            let device = done(compiler.compile(module, "compile", &CompileOptions::default())).expect(&name);
            let cost = done(compiler.estimate(&device, &CompileOptions::default())).expect(&name);
            let ran = done(compiler.execute(&device, &inputs, &ExecuteOptions::default())).expect(&name);
            (cost, ran)
        };
        let (before, there) = (run(text.clone()), run(half_on_host(&text)));
        assert!(before.1.results == there.1.results, "{name}");
        assert_eq!(before.0.host_peak_bytes, 0, "{name}");
        let all = there.0.peak_bytes + there.0.host_peak_bytes;
        assert_eq!(Some(all as usize), there.1.peak_bytes, "{name}");
        placed += usize::from(there.0.host_peak_bytes > 0 && there.0.peak_bytes < before.0.peak_bytes);
    }
    assert!(placed > 16, "{placed}");
}

/// With one byte of memory everything is made again that can be: results stay bit for bit, and devices hold no more.
#[test]
fn what_is_made_again_is_the_same() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let (compiler, mut changed) = (Compiler::standard(), 0);
    for entry in std::fs::read_dir(&corpus).expect("the corpus") {
        let path = entry.expect("an entry").path().join("program.mlir");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = path.display().to_string();
        let module = done(compiler.parse(Source::new(name.as_str(), text))).expect(&name);
        let [held, again] = ["planned,partition", "planned,partition,rematerialize{memory=1}"]
            .map(|passes| done(compiler.run_passes(module.clone(), passes)).expect(&name));
        let print = |module| compiler.print(module, PrintOptions::default());
        if print(&held) == print(&again) {
            continue;
        }
        changed += 1;
        let bytes = [&held, &again].map(|module| compiler.memory_use(module).bytes);
        assert!(bytes[1] < bytes[0], "{name}: {bytes:?}");
        let interface = Interface::of(&module).expect(&name);
        let inputs = random_inputs(&interface.arguments, 1, interface.replicas);
        let options = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
        let [before, after] =
            [&held, &again].map(|module| done(compiler.execute(module, &inputs, &options)).expect(&name).results);
        assert!(before == after, "{name}");
    }
    assert!(changed >= 4, "only {changed} programs hold what could be made again");
}

/// Two stages, each on its own device with a weight of 16 MiB.
const STAGES: &str = "
func.func @main(%x: tensor<8x2048xf32>, %w0: tensor<2048x2048xf32>, %w1: tensor<2048x2048xf32>) -> tensor<8x2048xf32> attributes {topology = #mpmd.topology<<\"m0\": <[\"x\"=1]>>, <\"m1\": <[\"x\"=1]>>>} {
  %a = mpmd.named_computation<\"s0\"> (%x, %w0) (%p: tensor<8x2048xf32>, %q: tensor<2048x2048xf32>) {
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32>
    mpmd.return %r : tensor<8x2048xf32>
  } : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32>
  %b = mpmd.named_computation<\"s1\"> (%a, %w1) (%p: tensor<8x2048xf32>, %q: tensor<2048x2048xf32>) {
    %r = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32>
    mpmd.return %r : tensor<8x2048xf32>
  } : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32>
  return %b : tensor<8x2048xf32>
}
";

#[test]
#[cfg(target_os = "linux")]
fn a_device_needs_memory_for_the_values_of_its_own_mesh() {
    let ran = run_text("stages", STAGES);
    let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("no {key} in {ran}"));
    // One of the weights and little more, in whole pages of 2 MiB.
    let (weight, page) = (2048 * 2048 * 4, 2 << 20);
    assert!(bytes("modelled_peak_bytes") < weight + page, "{ran}");
    assert!((weight..=weight + 2 * page).contains(&bytes("arena_bytes")), "{ran}");
}
