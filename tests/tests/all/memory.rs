//! The cost model's memory per device equals what the runtime allocates for values: both use the same buffer plan.

use dialect::buffers::ALIGNMENT;
use dialect::memory::MEMORY_KIND;
use dialect::ops::func;
use serde_json::Value;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, PrintOptions};
use shardc_tests::command::shardc;
use shardc_tests::corpus::{Sample, samples};
use shardc_tests::programs::program;
use shardc_tests::sharded::{module_and_inputs, parsed, results, value};

/// Runs a program once and returns the figures of `run --repeat`.
fn figures(text: &str) -> Value {
    shardc(&["run", "--repeat", "1", "--json", "-"], text).json()
}

#[test]
fn modelled_and_actual_memory_are_equal() {
    for Sample { name, text } in samples() {
        let ran = figures(&text);
        let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("{name}: no {key} in {ran}"));
        assert!(bytes("peak_bytes") > 0, "{name}: {ran}");
        assert_eq!(bytes("modelled_peak_bytes"), bytes("peak_bytes"), "{name}");
        assert!(bytes("peak_bytes") <= bytes("arena_bytes"), "{name}: {ran}");
    }
}

#[test]
fn random_programs_allocate_the_modelled_memory() {
    let (compiler, mut ran) = (Compiler::standard(), 0);
    for seed in 0..40 {
        let text = program(seed);
        let (module, inputs) = module_and_inputs(&compiler, &format!("seed {seed}"), &text, 1);
        let device = value(seed, compiler.compile(module, "compile", &CompileOptions::default()));
        let cost = value(seed, compiler.estimate(&device, &CompileOptions::default()));
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
    let ran = figures(LOOP);
    let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("no {key} in {ran}"));
    assert_eq!(bytes("modelled_peak_bytes"), bytes("peak_bytes"));
    // 80 columns in two panels of 64, each of 80 rows.
    let panels = 2 * 64 * 80 * 4;
    assert_eq!(bytes("arena_bytes"), bytes("peak_bytes").next_multiple_of(ALIGNMENT as u64) + panels, "{ran}");
}

/// A program whose arguments and results, every second one, are in the host's memory.
fn half_on_host(text: &str) -> String {
    let mut program = parsed(text);
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
fn memory_of_devices_and_hosts_adds_up_and_placement_keeps_results() {
    let (compiler, mut placed) = (Compiler::standard(), 0);
    let mut programs = samples();
    programs.sort_by_key(|sample| sample.text.len());
    // The larger ones take long.
    for Sample { name, text } in programs.into_iter().take(32) {
        let run = |text: &str| {
            let (module, inputs) = module_and_inputs(&compiler, &name, text, 1);
            let device = value(&name, compiler.compile(module, "compile", &CompileOptions::default()));
            let cost = value(&name, compiler.estimate(&device, &CompileOptions::default()));
            let ran = value(&name, compiler.execute(&device, &inputs, &ExecuteOptions::default()));
            (cost, ran)
        };
        let (before, there) = (run(&text), run(&half_on_host(&text)));
        assert!(before.1.results == there.1.results, "{name}: the memory of its values changes its results");
        assert_eq!(before.0.host_peak_bytes, 0, "{name}");
        let all = there.0.peak_bytes + there.0.host_peak_bytes;
        assert_eq!(Some(all as usize), there.1.peak_bytes, "{name}");
        placed += usize::from(there.0.host_peak_bytes > 0 && there.0.peak_bytes < before.0.peak_bytes);
    }
    assert!(placed > 16, "{placed}");
}

/// With one byte of memory everything is made again that can be: results stay bit for bit, and devices hold no more.
#[test]
fn rematerialized_values_keep_results_and_save_memory() {
    let (compiler, mut changed) = (Compiler::standard(), 0);
    for Sample { name, text } in samples() {
        let (module, inputs) = module_and_inputs(&compiler, &name, text, 1);
        let [held, again] = ["planned,partition", "planned,partition,rematerialize{memory=1}"]
            .map(|passes| value(&name, compiler.run_passes(module.clone(), passes)));
        let print = |module| compiler.print(module, PrintOptions::default());
        if print(&held) == print(&again) {
            continue;
        }
        changed += 1;
        let bytes = [&held, &again].map(|module| compiler.memory_use(module).bytes);
        assert!(bytes[1] < bytes[0], "{name}: {bytes:?}");
        let [before, after] =
            [&held, &again].map(|module| results(&name, &compiler, module, &inputs, Backend::Reference));
        assert!(before == after, "{name}: making values again changes the results");
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
    let ran = figures(STAGES);
    let bytes = |key: &str| ran[key].as_u64().unwrap_or_else(|| panic!("no {key} in {ran}"));
    // One of the weights and little more, in whole pages of 2 MiB.
    let (weight, page) = (2048 * 2048 * 4, 2 << 20);
    assert!(bytes("modelled_peak_bytes") < weight + page, "{ran}");
    assert!((weight..=weight + 2 * page).contains(&bytes("arena_bytes")), "{ran}");
}
