//! Random integer programs with ops of every family give the same results in shards, bit for bit, with full and greedy
//! plans.
//!
//! `FAMILIES_FROM` and `FAMILIES_PROGRAMS` choose the seeds; `make random COUNT=…` runs many in an optimized build.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use shardc::{Backend, CompileOptions, Compiler, Diagnostics, ExecuteOptions, Interface, Source, Watch, random_inputs};
use shardc_tests::programs::program;
use shardc_tests::sharded::number;

fn said(diagnostics: &Diagnostics) -> String {
    diagnostics.list.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ")
}

/// Returns the fault of a program under one kind of search.
fn fault(compiler: &Compiler, text: &str, search: passes::plan::Search) -> Result<(), String> {
    let module =
        compiler.parse(Source::new("program.mlir", text)).into_result().map_err(|d| format!("read: {}", said(&d)))?;
    let options = CompileOptions { search, ..CompileOptions::default() };
    // Optimized builds verify the output of passes only on request.
    let mut watch = Watch { verify_each: true, ..Watch::default() };
    let steps = compiler.steps("compile", &options).expect("a pipeline");
    let device = compiler.run_steps(module.clone(), &steps, &mut watch).into_result();
    let device = device.map_err(|d| format!("compiled: {}", said(&d)))?;
    let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
    let want = compiler.evaluate(&module, &inputs).into_result().map_err(|d| format!("evaluated: {}", said(&d)))?;
    let reference = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &reference).into_result().map_err(|d| format!("run: {}", said(&d)))?;
    match got
        .results
        .iter()
        .flatten()
        .zip(want.iter().flatten())
        .position(|(a, b)| a.shape != b.shape || a.dense_bytes() != b.dense_bytes())
    {
        Some(i) => Err(format!("result {i} differs")),
        None => Ok(()),
    }
}

#[test]
fn programs_of_every_family_mean_the_same_in_shards() {
    let compiler = Compiler::standard();
    let (from, count) = (number("FAMILIES_FROM", 0), number("FAMILIES_PROGRAMS", 150));
    let begun = Instant::now();
    let mut faults = Vec::new();
    for seed in from..from + count {
        let text = program(seed);
        // The two plans are often equal, so only every second program runs with both.
        let searches = [passes::plan::Search::Full, passes::plan::Search::Greedy];
        for search in &searches[..if seed % 2 == 0 { 2 } else { 1 }] {
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| fault(&compiler, &text, *search)));
            if let Err(fault) = outcome.unwrap_or_else(|_| Err("panic".to_owned())) {
                println!("seed {seed}, {search:?}: {fault}");
                faults.push(format!("seed {seed}, {search:?}: {fault}\n{text}"));
            }
        }
    }
    println!("{count} programs from {from} in {:.0} s, {} faults", begun.elapsed().as_secs_f64(), faults.len());
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults[..faults.len().min(10)].join("\n"));
}

/// Ops that must occur in at least three of the first 300 programs.
const FAMILIES: [&str; 34] = [
    "stablehlo.select ",
    "stablehlo.clamp",
    "stablehlo.convert",
    "stablehlo.iota",
    "stablehlo.broadcast_in_dim",
    "stablehlo.transpose",
    "stablehlo.reshape",
    "stablehlo.reduce(",
    "stablehlo.dot_general",
    "stablehlo.rng_bit_generator",
    "stablehlo.bitcast_convert",
    "stablehlo.slice",
    "stablehlo.pad",
    "stablehlo.reverse",
    "stablehlo.concatenate",
    "\"stablehlo.reduce_window\"",
    "stablehlo.convolution",
    "\"stablehlo.select_and_scatter\"",
    "\"stablehlo.sort\"",
    "chlo.top_k",
    "\"stablehlo.fft\"",
    "\"stablehlo.gather\"",
    "batching_dims = [",
    "\"stablehlo.scatter\"",
    "\"stablehlo.dynamic_slice\"",
    "stablehlo.dynamic_update_slice",
    "stablehlo.while",
    "\"stablehlo.case\"",
    "sdy.manual_computation",
    "\"stablehlo.all_reduce\"",
    "\"stablehlo.all_gather\"",
    "\"stablehlo.reduce_scatter\"",
    "\"stablehlo.all_to_all\"",
    "\"stablehlo.collective_permute\"",
];

#[test]
fn every_family_is_in_the_programs() {
    let programs: Vec<String> = (0..300).map(program).collect();
    let having = |family: &&str| programs.iter().filter(|text| text.contains(family)).count();
    let rare: Vec<(&str, usize)> = FAMILIES.iter().map(|f| (*f, having(f))).filter(|f| f.1 < 3).collect();
    assert!(rare.is_empty(), "in few of 300 programs: {rare:?}");
    let parts = programs.iter().filter(|text| text.contains("\":(1)")).count();
    assert!(parts >= 30, "parts of axes are in {parts} of 300 programs");
}
