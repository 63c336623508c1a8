//! Runs the programs of a family: compiled by each of its pipelines, they have the results that they have
//! unpartitioned.

use std::fmt::Write;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use shardc::{Backend, Compiler, ExecuteOptions, Interface, PrintOptions, Source, Watch};

use crate::minimize::minimized;
use crate::programs::Family;
use crate::sharded::{compiler, done, number};

/// The number of faults that are made smaller and reported.
const REPORTED: usize = 3;

/// What is wrong with a program.
struct Fault {
    /// What failed: a smaller program has the same fault if the same fails.
    at: &'static str,
    why: String,
}

/// Returns the seeds of a family's programs in one run: `RANDOM_FROM` chooses the first, `RANDOM_PROGRAMS` their
/// number.
pub fn seeds(family: &Family) -> Range<u64> {
    let from = number("RANDOM_FROM", 0);
    from..from + number("RANDOM_PROGRAMS", family.programs)
}

/// Runs a family's programs of these seeds and returns what was found in them.
///
/// # Errors
/// The seeds of programs with other results, each with the command that repeats it and a smaller program with the same
/// fault; or what the compiled programs lack.
pub fn run(family: &Family, seeds: Range<u64>) -> Result<String, String> {
    let compiler = compiler();
    let count = seeds.end - seeds.start;
    let (mut faults, mut found, mut of) = (Vec::new(), 0, 0);
    for seed in seeds {
        let text = family.program(seed);
        match tried(family, &compiler, seed, &text) {
            Ok(outputs) => {
                let (more, all) = (family.found)(&text, &outputs);
                (found, of) = (found + more, of + all);
            }
            Err(fault) => faults.push((seed, text, fault)),
        }
    }
    let summary = format!("{}: {} in {found} of {of} compiled programs", family.name, family.evidence);
    if !faults.is_empty() {
        let mut report = format!("{} of {count} programs of '{}' are wrong", faults.len(), family.name);
        for (seed, text, fault) in faults.iter().take(REPORTED) {
            let same = |smaller: &str| matches!(tried(family, &compiler, *seed, smaller), Err(f) if f.at == fault.at);
            let Fault { at, why } = fault;
            let _ = write!(
                report,
                "\n\nseed {seed}: {at}: {why}\nTo repeat it: RANDOM_FROM={seed} RANDOM_PROGRAMS=1 cargo test -p shardc-tests \
                 --test all families::{}\nThe smallest program with this fault:\n{}",
                family.name,
                minimized(text, same)
            );
        }
        return Err(report);
    }
    let is_shown = of > 0 && found as f64 >= family.at_least * of as f64;
    // One program alone may show nothing.
    match is_shown || count == 1 {
        true => Ok(summary),
        false => Err(format!("{summary}, instead of {} % of them", 100.0 * family.at_least)),
    }
}

/// Returns the outputs of a family's pipelines for a program.
fn tried(family: &Family, compiler: &Compiler, seed: u64, text: &str) -> Result<Vec<String>, Fault> {
    let panicked = |_| Err(Fault { at: "panic", why: "the compiler panicked".to_owned() });
    catch_unwind(AssertUnwindSafe(|| compared(family, compiler, seed, text))).unwrap_or_else(panicked)
}

fn compared(family: &Family, compiler: &Compiler, seed: u64, text: &str) -> Result<Vec<String>, Fault> {
    let at = |at: &'static str| move |why: String| Fault { at, why };
    let module = done(compiler.parse(Source::new("program.mlir", text))).map_err(at("parse"))?;
    let types = Interface::of(&module).ok_or("no interface".to_owned()).map_err(at("parse"))?.arguments;
    let inputs = vec![(family.inputs)(&mut Rng::with_seed(seed), text, &types)];
    let want = done(compiler.evaluate(&module, &inputs)).map_err(at("evaluate"))?;
    let output = |pipeline: String| {
        let steps = compiler.passes().parse(&pipeline).expect("there is such a pipeline");
        // Optimized builds verify the output of passes only on request.
        let mut watch = Watch { verify_each: true, ..Watch::default() };
        let fault = |at| move |why: String| Fault { at, why: format!("{pipeline}: {why}") };
        let device = done(compiler.run_steps(module.clone(), &steps, &mut watch)).map_err(fault.clone()("compile"))?;
        let options = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
        let got = done(compiler.execute(&device, &inputs, &options)).map_err(fault.clone()("run"))?.results;
        let (want, got): (Vec<_>, Vec<_>) = (want.iter().flatten().collect(), got.iter().flatten().collect());
        if want.len() != got.len() {
            return Err(fault("results")(format!("{} results instead of {}", got.len(), want.len())));
        }
        let mut pairs = want.iter().zip(&got).enumerate();
        if let Some((i, (want, got))) = pairs.find(|(_, (want, got))| !(family.equal)(text, want, got)) {
            return Err(fault("results")(format!("result {i} is {got:?} instead of {want:?}")));
        }
        Ok(compiler.print(&device, PrintOptions::default()))
    };
    (family.pipelines)(seed, text).into_iter().map(output).collect()
}
