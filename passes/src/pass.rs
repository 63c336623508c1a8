//! Passes, their options as data, and the one loop that runs them.
//!
//! There is no manager object: a pass is a row in [`PASSES`](crate::PASSES), a pipeline is a list of names read top
//! to bottom. The loop verifies before the first pass and after every pass, so that a pass may rely on a valid
//! program and a pass that breaks one is named at once.

use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::Program;

use crate::options::{OptionDef, Options};

/// One transformation or analysis of a whole program.
pub struct Pass {
    /// Its name, which is also that of its file, its option of `--passes` and its folder of lit-tests.
    pub name: &'static str,
    /// One or two sentences for `--help`.
    pub doc: &'static str,
    /// Options that can be set as `name{option=value}`.
    pub options: &'static [OptionDef],
    /// Runs the pass. User errors go into the diagnostics; after an error the program is not used any more.
    pub run: fn(&mut Program, &Options, &mut Diagnostics),
}

/// A pass with its options set.
#[derive(Clone)]
pub struct Step {
    /// The pass.
    pub pass: &'static Pass,
    /// Its options, defaults filled in.
    pub options: Options,
}

impl Step {
    /// The pass with all options at their defaults.
    pub fn new(pass: &'static Pass) -> Self {
        Self { pass, options: Options::defaults(pass.options) }
    }

    /// The pass with some options set; panics when the pass has no such option or the value doesn't fit, which is a
    /// mistake in the calling code.
    pub fn with(pass: &'static Pass, settings: &[(&str, &str)]) -> Self {
        let mut step = Self::new(pass);
        for (name, value) in settings {
            if let Err(fault) = step.options.set(pass.options, name, value) {
                panic!("pass '{}': {fault}", pass.name);
            }
        }
        step
    }
}

/// What [`run_passes`] did.
#[derive(Default)]
pub struct Report {
    /// All diagnostics of the verifier and the passes.
    pub diagnostics: Diagnostics,
    /// The time of each pass that ran, in order; verification is separate.
    pub timings: Vec<(&'static str, Duration)>,
    /// Time spent verifying.
    pub verify_time: Duration,
    /// The pass after which the program was no longer valid: a bug of that pass, not of the input.
    pub broken_by: Option<&'static str>,
}

impl Report {
    /// Whether every pass ran and none found an error.
    pub fn ok(&self) -> bool {
        !self.diagnostics.has_errors()
    }
}

/// Runs `steps` in order, stopping at the first that finds an error. `after` sees the program after each pass.
pub fn run_passes(program: &mut Program, steps: &[Step], after: &mut dyn FnMut(&Program, &Step)) -> Report {
    let mut report = Report::default();
    let start = Instant::now();
    dialect::verify(program, &mut report.diagnostics);
    report.verify_time = start.elapsed();
    if report.ok() { run_on_valid(program, steps, after, report) } else { report }
}

/// The same for a program that was verified already.
pub fn run_passes_on_valid(program: &mut Program, steps: &[Step], after: &mut dyn FnMut(&Program, &Step)) -> Report {
    run_on_valid(program, steps, after, Report::default())
}

fn run_on_valid(
    program: &mut Program,
    steps: &[Step],
    after: &mut dyn FnMut(&Program, &Step),
    mut report: Report,
) -> Report {
    for step in steps {
        run_one(program, step, step.pass.run, after, &mut report);
        if !report.ok() {
            break;
        }
    }
    report
}

/// Runs one step on a valid program by `run` instead of the pass's own function: for callers that want to know more of
/// a pass than what it makes of the program.
pub fn run_pass_with(
    program: &mut Program,
    step: &Step,
    run: impl FnOnce(&mut Program, &Options, &mut Diagnostics),
) -> Report {
    let mut report = Report::default();
    run_one(program, step, run, &mut |_, _| {}, &mut report);
    report
}

fn run_one(
    program: &mut Program,
    step: &Step,
    run: impl FnOnce(&mut Program, &Options, &mut Diagnostics),
    after: &mut dyn FnMut(&Program, &Step),
    report: &mut Report,
) {
    let start = Instant::now();
    run(program, &step.options, &mut report.diagnostics);
    report.timings.push((step.pass.name, start.elapsed()));
    after(program, step);
    if report.ok() && !still_valid(program, report) {
        report.broken_by = Some(step.pass.name);
        let message = format!("pass '{}' made an invalid program", step.pass.name);
        let bug = Diagnostic::error(codes::BUG, Span::default(), message);
        report.diagnostics.push(bug.note("this is a bug in shardc, not in your program"));
    }
}

/// Runs `steps` in order on a program known to be valid, without verifying it again: for callers that try many variants
/// of a program. Returns whether every pass ran without an error.
pub fn run_unverified(program: &mut Program, steps: &[Step]) -> bool {
    let mut diagnostics = Diagnostics::default();
    steps.iter().all(|step| {
        (step.pass.run)(program, &step.options, &mut diagnostics);
        !diagnostics.has_errors()
    })
}

/// Keeps only errors: the verifier's warnings were reported before the first pass.
fn still_valid(program: &Program, report: &mut Report) -> bool {
    let start = Instant::now();
    let mut found = Diagnostics::default();
    dialect::verify(program, &mut found);
    report.verify_time += start.elapsed();
    if found.has_errors() {
        report.diagnostics.append(found);
    }
    report.ok()
}
