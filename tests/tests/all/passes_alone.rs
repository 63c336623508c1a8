//! Passes in any order: every prefix of the pipeline, every pass alone and random lists of passes keep the meaning of
//! random programs, or name what they lack in an error. A panic, an invalid program or a different result is a fault.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dialect::literal::Literal;
use shardc::{Backend, Compiler, ExecuteOptions, Interface, Module, Source, Tolerance, random_inputs};
use shardc_tests::oracle::written_programs;
use shardc_tests::sharded::number;
use shardc_tests::tools::scratch;

/// The default number of programs.
const PROGRAMS: u64 = 40;

/// The pipeline whose prefixes are run, pass by pass.
const PIPELINE: [&str; 17] = [
    "import",
    "propagate",
    "unify-meshes",
    "one-device",
    "decompose-sharded",
    "slice-gathers",
    "assemble-rows",
    "merge-shifts",
    "plan",
    "replicate",
    "partition",
    "rematerialize{memory=1}",
    "collective-matmul{when=always}",
    "decompose-hierarchical{hierarchical=always}",
    "schedule",
    "check-spmd",
    "manual",
];

/// Returns the lists of passes to run: prefixes of the pipeline, each pass alone, and pairs and longer lists chosen by
/// `seed`.
fn lists(compiler: &Compiler, seed: u64) -> Vec<String> {
    let names: Vec<&str> = compiler.passes().passes().iter().map(|p| p.name).collect();
    let mut lists: Vec<String> = (1..=PIPELINE.len()).map(|n| PIPELINE[..n].join(",")).collect();
    lists.extend(names.iter().map(|name| (*name).to_owned()));
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..6 {
        let list: Vec<&str> = (0..random.usize(2..6)).map(|_| names[random.usize(..names.len())]).collect();
        lists.push(list.join(","));
    }
    // Pipelines with one pass left out.
    let without = random.usize(..PIPELINE.len());
    lists.push((0..PIPELINE.len()).filter(|&i| i != without).map(|i| PIPELINE[i]).collect::<Vec<_>>().join(","));
    lists
}

/// The outcome of a list of passes.
enum Ended {
    Refused,
    Same,
    Wrong(String),
}

fn ended(compiler: &Compiler, module: &Module, list: &str, inputs: &[Vec<Literal>], want: &[Vec<Literal>]) -> Ended {
    let outcome = compiler.run_passes(module.clone(), list);
    let Some(made) = outcome.value else {
        let first = outcome.diagnostics.iter().find(|d| d.severity == shardc::Severity::Error);
        return match first {
            Some(d) if d.code == "bug" => Ended::Wrong(d.message.clone()),
            Some(_) => Ended::Refused,
            None => Ended::Wrong("it failed without an error".to_owned()),
        };
    };
    if let Some(d) = outcome.diagnostics.iter().find(|d| d.code == "collective-diverges") {
        return Ended::Wrong(format!("a false alarm: {}", d.message));
    }
    let options = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let per_device = compiler.print(&made, Default::default()).contains("shardc.global_type");
    let got = match per_device {
        true => compiler.execute(&made, inputs, &options).map(|ran| ran.results),
        false => compiler.evaluate(&made, inputs),
    };
    let Some(got) = got.value else {
        let said: Vec<String> = got.diagnostics.iter().map(|d| d.message.clone()).collect();
        return Ended::Wrong(format!("its result can't be evaluated: {}", said.join("; ")));
    };
    let types = |all: &[Vec<Literal>]| -> Vec<_> { all.iter().flatten().map(Literal::ty).collect() };
    if types(&got) != types(want) {
        return Ended::Wrong("its results have other types".to_owned());
    }
    let compared = compiler.compare_results(&made, inputs, &got, want, Tolerance::default());
    match compared.iter().find(|result| !result.equal) {
        Some(result) => Ended::Wrong(format!("result {} {}", result.index, result.comparison.text("is equal"))),
        None => Ended::Same,
    }
}

#[test]
#[cfg_attr(not(has = "python3"), ignore = "needs python3")]
fn every_pass_keeps_the_meaning_or_refuses() {
    let folder = scratch("alone");
    let (from, count) = (number("RANDOM_FROM", 5000), number("RANDOM_PROGRAMS", PROGRAMS));
    let programs = written_programs(&folder, from..from + count);
    let compiler = Compiler::standard();
    let (mut faults, mut refused, mut same) = (Vec::new(), 0, 0);
    for (seed, path) in (from..).zip(programs) {
        let text = std::fs::read_to_string(&path).unwrap();
        // Device numbers differ between devices, so such programs have no single result.
        if text.contains("partition_id") || text.contains("replica_id") {
            continue;
        }
        let Some(module) = compiler.parse(Source::new(path.display().to_string(), text)).value else { continue };
        let Some(interface) = Interface::of(&module) else { continue };
        let inputs = random_inputs(&interface.arguments, seed, interface.replicas);
        // A program that calls functions of other compilers can't be evaluated.
        let Some(want) = compiler.evaluate(&module, &inputs).value else { continue };
        for list in lists(&compiler, seed) {
            let run = || ended(&compiler, &module, &list, &inputs, &want);
            match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ended::Same) => same += 1,
                Ok(Ended::Refused) => refused += 1,
                Ok(Ended::Wrong(fault)) => faults.push(format!("--passes {list} {}: {fault}", path.display())),
                Err(_) => faults.push(format!("--passes {list} {}: panicked", path.display())),
            }
        }
    }
    println!("{same} lists of passes kept the meaning, {refused} were refused");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(same >= 6 * count && refused >= count / 2, "only {same} and {refused} lists for {count} programs");
}
