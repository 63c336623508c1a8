//! The full plan is never more expensive than the greedy plan by the output of `cost`, on any target, and a peak above
//! the memory of a device gives a warning.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds.

use passes::plan::Search;
use shardc::{CompileOptions, Compiler, Cost, Source};
use shardc_tests::models::model;
use shardc_tests::programs::program;
use shardc_tests::sharded::number;
use shardc_tests::training::step;

/// Targets with the number of devices of the programs, or more.
const TARGETS: [&str; 7] = ["flat", "cpu", "v5e:2x4", "v5e:16x16", "v5p:2x2x2", "2xv5e:2x2", "2xh100:4"];

/// Returns a product whose left operand is sharded along both dimensions. Gathering it along both axes at once looks
/// cheaper in the plan's own sums than it is, because the pieces have to be reordered.
fn product(rows: u64, contracted: u64, columns: u64) -> String {
    format!(
        "sdy.mesh @mesh = <[\"X\"=2, \"Y\"=4]>
        func.func @main(%a: tensor<{rows}x{contracted}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"X\"}}, {{\"Y\"}}]>}},
            %w: tensor<{contracted}x{columns}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{\"Y\"}}]>}})
            -> (tensor<{rows}x{columns}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"X\"}}, {{\"Y\"}}]>}}) {{
          %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<{rows}x{contracted}xf32>, tensor<{contracted}x{columns}xf32>) -> tensor<{rows}x{columns}xf32>
          return %0 : tensor<{rows}x{columns}xf32>
        }}"
    )
}

/// Returns the output of `cost`, and whether there was a warning about memory; `None` if the target can't hold the
/// mesh.
fn cost(compiler: &Compiler, text: &str, target: &str, memory: Option<u64>, search: Search) -> Option<(Cost, bool)> {
    let options = CompileOptions { search, memory, target: Some(target.to_owned()), ..CompileOptions::default() };
    let module = compiler.parse(Source::new("program.mlir", text)).into_result().expect("a program");
    let compiled = compiler.compile(module, "compile", &options);
    let warned = compiled.diagnostics.list.iter().any(|d| d.code == "memory-exceeded");
    let device = compiled.into_result().ok()?;
    Some((compiler.estimate(&device, &options).into_result().expect("a cost"), warned))
}

fn fault(compiler: &Compiler, text: &str, target: &str, memory: Option<u64>) -> Option<String> {
    let (full, warned) = cost(compiler, text, target, memory, Search::Full)?;
    let (greedy, _) = cost(compiler, text, target, memory, Search::Greedy)?;
    let limit = memory.unwrap_or(if target.contains(':') { full.memory_bytes } else { u64::MAX });
    let worse = full.step_s > greedy.step_s && greedy.peak_bytes <= limit;
    let worse = worse || full.peak_bytes > limit && full.peak_bytes > greedy.peak_bytes;
    let silent = (full.peak_bytes > limit) != warned;
    let figures = |cost: &Cost| format!("{} s, {} bytes", cost.step_s, cost.peak_bytes);
    (worse || silent)
        .then(|| format!("{target} {memory:?}: full {}, greedy {}, warned {warned}", figures(&full), figures(&greedy)))
}

#[test]
fn the_full_plan_is_never_worse_than_the_greedy_one() {
    let compiler = Compiler::standard();
    let (from, count) = (number("RANDOM_FROM", 0), number("RANDOM_PROGRAMS", 35));
    let mut faults = Vec::new();
    for seed in from..from + count {
        // Ops of every family in small, training steps in small, and models of real sizes.
        let (text, least) = match seed % 5 {
            0 | 1 => (program(seed), 256),
            2 => (step(seed, ["f32", "bf16"][seed as usize / 5 % 2]), 256),
            _ => (model(seed), 1 << 20),
        };
        let target = TARGETS[seed as usize % TARGETS.len()];
        // Every fourth program has little memory.
        let memory = (seed % 4 == 3).then_some(least << (seed / 4 % 8));
        faults.extend(fault(&compiler, &text, target, memory).map(|f| format!("seed {seed}: {f}")));
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_full_plan_of_a_product_is_never_worse() {
    let compiler = Compiler::standard();
    for (rows, contracted, columns) in [(512, 1024, 2048), (1024, 1024, 1024), (4096, 512, 256), (256, 8192, 512)] {
        let text = product(rows, contracted, columns);
        for target in TARGETS {
            assert_eq!(fault(&compiler, &text, target, None), None, "{rows}x{contracted}x{columns}");
        }
    }
    let (full, _) = cost(&compiler, &product(512, 1024, 2048), "v5e:2x4", None, Search::Full).expect("it fits");
    // The collective alone takes 5 us to start.
    assert!(full.step_s < 24e-6, "{}", full.step_s);
}

#[test]
fn memory_of_the_user_counts_instead_of_the_targets() {
    let compiler = Compiler::standard();
    let text = product(512, 1024, 2048);
    // 32 GB on a chip of 16 GB change nothing if 16 GB suffice; one mebibyte is too little for any plan.
    let peak = |memory| cost(&compiler, &text, "v5e:2x4", memory, Search::Full).expect("it fits");
    let (own, large, small) = (peak(None), peak(Some(32_000_000_000)), peak(Some(1 << 20)));
    assert_eq!((own.0.peak_bytes, own.1), (large.0.peak_bytes, large.1));
    assert!(!own.1 && small.1);
}
