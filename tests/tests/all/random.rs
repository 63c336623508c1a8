//! Random programs over random meshes and shardings, partitioned, give the same results on all devices together as the
//! originals. They are planned greedily and in full, for slices of TPUs and little memory, and run as two replicas with
//! different inputs.
//!
//! `RANDOM_FROM` and `RANDOM_PROGRAMS` choose the seeds. The generator is a Python script
//! (`oracles/random_programs.py`).

use std::path::Path;

use dialect::diagnostic::Diagnostics;
use passes::estimate::Target;
use passes::plan::{PlanOptions, PlanReport, Search};
use shardc_tests::command::shardc;
use shardc_tests::oracle::written_programs;
use shardc_tests::sharded::number;
use shardc_tests::tools::scratch;

/// The default number of programs.
const PROGRAMS: u64 = 150;

/// Returns the output of `shardc check` for a program whose results differ when planned with these flags. A program
/// that calls functions of other compilers must at least compile.
fn fault(program: &Path, flags: &[&str], evaluated: &mut u64) -> Option<String> {
    let path = program.to_string_lossy();
    let rest = [flags, &[&path]].concat();
    let (mut code, mut said) = shardc(&[&["check", "--interpret"], &rest[..]].concat(), "").code_and_text();
    // The generator writes unreduced axes that no op produces, which Shardy rejects after propagation.
    if code == 1 && said.contains("returns a value not unreduced, but is passed on as unreduced") {
        return None;
    }
    let refusals = ["is unknown, so it can't be evaluated", "ApproxTopK can't be evaluated"];
    if code == 1 && refusals.iter().any(|refusal| said.contains(refusal)) {
        (code, said) = shardc(&[&["compile"], &rest[..]].concat(), "").code_and_text();
    } else {
        *evaluated += 1;
    }
    let said = said.lines().take(3).collect::<Vec<_>>().join(" ");
    (code != 0).then(|| format!("{} {}: {said}", program.display(), flags.join(" ")))
}

/// Returns the plan of a program for a slice, with a limit in bytes; `None` if the slice can't hold the mesh or the
/// program is rejected.
fn planned(text: &str, target: &str, memory: Option<u64>) -> Option<PlanReport> {
    let mut diagnostics = Diagnostics::default();
    let mut program = dialect::parse(text, &mut diagnostics);
    let steps = passes::Registry::standard().parse("import,propagate,unify-meshes").expect("there are such passes");
    if !passes::run_passes(&mut program, &steps, &mut |_, _| {}).ok() {
        return None;
    }
    let options = PlanOptions { search: Search::Full, target: Target::parse(target).expect("a target"), memory };
    let report = passes::plan::plan(&mut program, &options, &mut diagnostics);
    (!diagnostics.has_errors()).then_some(report)
}

/// The targets of plans.
const TARGETS: [&str; 3] = ["flat", "v5e:16x16", "v5p:4x4x4"];

/// Checks that plans with decreasing memory are never slower than the greedy plan, and stay within the limit, or within
/// the greedy plan's peak if that is higher. Returns a description of a failure; counts in `bound` the limits that the
/// unlimited plan exceeds.
fn memory_fault(text: &str, target: &str, bound: &mut u64) -> Option<String> {
    let free = planned(text, target, None)?;
    let (greedy, peak) = (free.greedy_peak, free.peak);
    for limit in [greedy, greedy.midpoint(peak), 0.9 * greedy.min(peak), 1.0] {
        let limit = limit.ceil();
        let found = planned(text, target, Some(limit as u64))?;
        *bound += u64::from(limit < peak && greedy <= limit);
        if found.seconds > found.greedy_seconds * (1.0 + 1e-6) || found.peak > limit.max(greedy) {
            return Some(format!("--target {target} --memory {limit}: {found:?}, without the limit {free:?}"));
        }
    }
    None
}

/// Returns whether every manual computation has the same input and output shardings. The generator also creates others,
/// only for propagation: their results differ between devices that should hold the same values.
fn keeps_promises(text: &str) -> bool {
    let between = |line: &str, a: &str, b: &str| Some(line.split_once(a)?.1.split_once(b)?.0.trim().to_owned());
    let mut lines = text.lines().filter(|l| l.contains("sdy.manual_computation"));
    lines.all(|l| between(l, "in_shardings=", "out_shardings=") == between(l, "out_shardings=", "manual_axes="))
}

#[test]
#[cfg_attr(not(has = "python3"), ignore = "needs python3")]
fn random_programs_keep_their_results_when_partitioned() {
    let folder = scratch("random");
    let (from, count) = (number("RANDOM_FROM", 0), number("RANDOM_PROGRAMS", PROGRAMS));
    let programs = written_programs(&folder, from..from + count);
    let (mut faults, mut evaluated, mut replicated, mut bound) = (Vec::new(), 0, 0, 0);
    for (seed, program) in (from..).zip(programs) {
        let text = std::fs::read_to_string(&program).unwrap();
        // Device numbers differ between devices, so such programs have no single result.
        if !keeps_promises(&text) || text.contains("partition_id") || text.contains("replica_id") {
            continue;
        }
        for plan in ["full", "greedy"] {
            faults.extend(fault(&program, &["--plan", plan], &mut evaluated));
        }
        let target = TARGETS[seed as usize % TARGETS.len()];
        faults.extend(memory_fault(&text, target, &mut bound).map(|f| format!("{} {f}", program.display())));
        if let Some(plan) = planned(&text, target, None).filter(|_| seed % 2 == 0) {
            let memory = format!("{}B", plan.greedy_peak.ceil());
            faults.extend(fault(&program, &["--target", target, "--memory", &memory], &mut evaluated));
        }
        // Groups that list devices refer to the devices of one replica.
        if seed % 3 == 0 && !text.contains("replica_groups") && !text.contains("source_target_pairs") {
            let two = text.replacen("module {", "module attributes {mhlo.num_replicas = 2 : i32} {", 1);
            assert_ne!(two, text, "the program of seed {seed} doesn't begin with a module");
            let program = folder.join(format!("{seed}_replicas.mlir"));
            std::fs::write(&program, two).unwrap();
            faults.extend(fault(&program, &[], &mut replicated));
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs: {}", faults.len(), faults.join("\n"));
    assert!(replicated >= count / 6, "only {replicated} of {count} programs could be evaluated as two replicas");
    assert!(evaluated >= count, "only {evaluated} of {count} programs could be evaluated under both plans");
    println!("{evaluated} evaluated, {replicated} as two replicas, {bound} bound by memory");
    assert!(bound >= count / 50, "memory bound only {bound} plans of {count} programs");
}
