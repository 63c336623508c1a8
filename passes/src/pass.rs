//! Passes, their options as data, and the loop that runs them.
//!
//! There is no manager object: a pass is a row in [`PASSES`](crate::PASSES), and a pipeline is a list of names that run
//! in order. The loop verifies before the first pass, so that a pass may rely on a valid program. With
//! [`Verify::each`], the default in debug builds, it verifies after every pass, so that a pass which breaks a program
//! is named at once.

use std::ops::Deref;
use std::time::{Duration, Instant};

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics, Span};
use dialect::ir::{Program, Stage};
use dialect::ops::func;

use crate::options::{OptionDef, Options};
use crate::statistics::Statistic;
use crate::symbols;

/// One transformation or analysis of a whole program.
pub struct Pass {
    /// Its name, which is also that of its file, its option of `--passes` and its folder of lit-tests.
    pub name: &'static str,
    /// One or two sentences for `--help`.
    pub doc: &'static str,
    /// What it does to the program.
    pub effect: Effect,
    /// Options that can be set as `name{option=value}`.
    pub options: &'static [OptionDef],
    /// Runs the pass. User errors go into the diagnostics; after an error the program is not used any more.
    pub run: fn(&mut Program, &Options, &mut Diagnostics),
}

/// What a pass does to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It moves the program to this stage.
    Reach(Stage),
    /// It rewrites the program, which stays in its stage.
    Rewrite,
    /// It reads the program and reports what it finds.
    Report,
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
    /// Creates the step with all options at their defaults.
    pub fn new(pass: &'static Pass) -> Self {
        Self { pass, options: Options::defaults(pass.options) }
    }

    /// Returns the stage that the pass moves a program to, if any.
    fn stage(&self) -> Option<Stage> {
        match self.pass.effect {
            Effect::Reach(stage) => Some(stage),
            Effect::Rewrite | Effect::Report => None,
        }
    }

    /// Runs `run`, the pass's own function or one in its place, and moves the program to the pass's stage.
    fn run(
        &self,
        program: &mut Program,
        run: impl FnOnce(&mut Program, &Options, &mut Diagnostics),
        diagnostics: &mut Diagnostics,
    ) {
        self.stage().into_iter().for_each(|stage| program.advance(stage));
        run(program, &self.options, diagnostics);
    }
}

/// Steps that run in order. They can be cut at stages, wherever the passes that reach these stages are.
#[derive(Clone, Default)]
pub struct Steps(pub Vec<Step>);

impl Deref for Steps {
    type Target = [Step];

    fn deref(&self) -> &[Step] {
        &self.0
    }
}

impl Steps {
    /// Returns the number of steps before the first that moves a program to a stage that `is` holds for.
    fn first(&self, is: impl Fn(Stage) -> bool) -> usize {
        self.iter().position(|step| step.stage().is_some_and(&is)).unwrap_or(self.len())
    }

    /// Returns the number of steps up to the last that moves a program to `stage`, or to an earlier one.
    fn end(&self, stage: Stage) -> usize {
        let further = self.first(|s| s > stage);
        self[..further].iter().rposition(|step| step.stage().is_some()).map_or(0, |last| last + 1)
    }

    /// Returns the steps before the first that moves a program to `stage` or further.
    pub fn before(&self, stage: Stage) -> Self {
        Self(self[..self.first(|s| s >= stage)].to_vec())
    }

    /// Returns the steps that [`Self::before`] leaves out.
    pub fn from(&self, stage: Stage) -> Self {
        Self(self[self.first(|s| s >= stage)..].to_vec())
    }

    /// Returns the steps up to the one that moves a program to `stage`, or else to the last stage before it.
    pub fn until(&self, stage: Stage) -> Self {
        Self(self[..self.end(stage)].to_vec())
    }

    /// Returns the steps that [`Self::until`] leaves out.
    pub fn after(&self, stage: Stage) -> Self {
        Self(self[self.end(stage)..].to_vec())
    }

    /// Returns the steps without those that only report.
    pub fn silent(mut self) -> Self {
        self.0.retain(|step| step.pass.effect != Effect::Report);
        self
    }
}

/// The result of [`run_passes`].
#[derive(Default)]
pub struct Report {
    /// All diagnostics of the verifier and the passes.
    pub diagnostics: Diagnostics,
    /// The time of each pass that ran, in order; verification is separate.
    pub timings: Vec<(&'static str, Duration)>,
    /// The statistics of each pass.
    pub statistics: Vec<(&'static str, Vec<Statistic>)>,
    /// Time spent verifying.
    pub verify_time: Duration,
    /// The pass that made a valid program invalid: a bug in the pass, not in the input.
    pub broken_by: Option<&'static str>,
}

impl Report {
    /// Returns whether every pass ran without errors.
    pub fn ok(&self) -> bool {
        !self.diagnostics.has_errors()
    }
}

/// The points at which a pipeline verifies the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verify {
    /// Before the first pass; not needed for a program that is known to be valid.
    pub first: bool,
    /// After every pass, to find the one that breaks the program. It costs about as much time as the passes themselves.
    pub each: bool,
}

impl Default for Verify {
    /// Before the first pass; after every pass in debug builds.
    fn default() -> Self {
        Self { first: true, each: cfg!(debug_assertions) }
    }
}

/// Runs `steps` in order, stopping at the first that finds an error. Calls `after` with the program after each pass.
pub fn run_passes(program: &mut Program, steps: &[Step], after: &mut dyn FnMut(&Program, &Step)) -> Report {
    run_passes_verifying(program, steps, Verify::default(), after)
}

/// Runs [`run_passes`] with a choice of when to verify.
pub fn run_passes_verifying(
    program: &mut Program,
    steps: &[Step],
    verify: Verify,
    after: &mut dyn FnMut(&Program, &Step),
) -> Report {
    let mut report = Report::default();
    if verify.first {
        let start = Instant::now();
        dialect::verify(program, &mut report.diagnostics);
        report.verify_time = start.elapsed();
    }
    if !steps.is_empty() {
        branches(program, &mut report.diagnostics);
    }
    for step in steps {
        if !report.ok() {
            break;
        }
        run_one(program, step, step.pass.run, &mut report);
        after(program, step);
        if verify.each {
            check(program, step, &mut report);
        }
    }
    report
}

/// Runs one step on a valid program by `run` instead of the pass's own function, for callers that need more results of
/// a pass than the program.
pub fn run_pass_with(
    program: &mut Program,
    step: &Step,
    run: impl FnOnce(&mut Program, &Options, &mut Diagnostics),
) -> Report {
    let mut report = Report::default();
    run_one(program, step, run, &mut report);
    check(program, step, &mut report);
    report
}

/// Reports `@main` if it has branches between blocks or leads to a function that does, since passes can't work on it.
/// Other such functions aren't changed.
fn branches(program: &Program, diagnostics: &mut Diagnostics) {
    let functions = || func::functions(program).filter(|&f| func::has_branches(program, f));
    if functions().next().is_none() {
        return;
    }
    let main: Vec<_> = func::function(program, "main").into_iter().collect();
    let used = symbols::led_to(program, &main);
    for function in functions().filter(|f| used.contains(f)) {
        let name = func::symbol(program, function).unwrap_or_default();
        let message = format!("@{name} has branches between blocks, which shardings can't cross");
        let d = Diagnostic::error(codes::BRANCHES, program.op(function).span, message);
        diagnostics.push(
            d.note("use stablehlo.if, stablehlo.case and stablehlo.while, or don't call the function from @main"),
        );
    }
}

fn run_one(
    program: &mut Program,
    step: &Step,
    run: impl FnOnce(&mut Program, &Options, &mut Diagnostics),
    report: &mut Report,
) {
    let start = Instant::now();
    dialect::interrupt::check();
    step.run(program, run, &mut report.diagnostics);
    report.timings.push((step.pass.name, start.elapsed()));
    report.statistics.push((step.pass.name, step.options.take_statistics()));
}

/// Verifies the program after `step`, unless the step reported an error.
fn check(program: &Program, step: &Step, report: &mut Report) {
    if !report.ok() {
        return;
    }
    let (start, mut found) = (Instant::now(), Diagnostics::default());
    dialect::verify(program, &mut found);
    report.verify_time += start.elapsed();
    if !found.has_errors() {
        // The verifier's warnings were reported before the first pass.
        return;
    }
    report.diagnostics.append(found);
    let name = step.pass.name;
    report.broken_by = Some(name);
    let bug = Diagnostic::error(codes::BUG, Span::default(), format!("pass '{name}' produced an invalid program"));
    report.diagnostics.push(bug.note("this is a bug in shardc, not in your program"));
}

/// Runs `steps` in order on a program known to be valid, without verifying it again, for callers that try many variants
/// of a program. Returns whether every pass ran without an error.
pub fn run_unverified(program: &mut Program, steps: &[Step]) -> bool {
    run_reporting(program, steps, &mut Diagnostics::default())
}

/// Runs [`run_unverified`], and adds what the passes report to `diagnostics`, which have no errors yet.
pub(crate) fn run_reporting(program: &mut Program, steps: &[Step], diagnostics: &mut Diagnostics) -> bool {
    steps.iter().all(|step| {
        step.run(program, step.pass.run, diagnostics);
        step.options.take_statistics();
        !diagnostics.has_errors()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialect::ops::func;

    static IDLE: Pass =
        Pass { name: "idle", doc: "Does nothing.", effect: Effect::Report, options: &[], run: |_, _, _| {} };

    static BREAK: Pass = Pass {
        name: "break",
        doc: "Removes the terminator of @main.",
        effect: Effect::Rewrite,
        options: &[],
        run: |program, _, _| {
            let main = func::function(program, "main").expect("@main");
            let block = func::block(program, main).expect("a body");
            program.set_block_ops(block, Vec::new());
        },
    };

    fn run(passes: &[&'static Pass], verify: Verify) -> Report {
        let text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }";
        let mut program = dialect::parse(text, &mut Diagnostics::default());
        let steps: Vec<Step> = passes.iter().map(|pass| Step::new(pass)).collect();
        run_passes_verifying(&mut program, &steps, verify, &mut |_, _| {})
    }

    #[test]
    fn verifying_each_pass_finds_the_one_that_breaks_the_program() {
        let verify = Verify { first: true, each: true };
        assert!(run(&[&IDLE, &IDLE], verify).ok());
        let report = run(&[&IDLE, &BREAK, &IDLE], verify);
        assert_eq!((report.broken_by, report.timings.len()), (Some("break"), 2));
        let last = report.diagnostics.iter().last().expect("a diagnostic");
        assert_eq!(last.message, "pass 'break' produced an invalid program");
        assert_eq!(last.code, codes::BUG);
        assert!(run(&[&IDLE, &BREAK], Verify { each: false, ..verify }).ok());
    }

    #[test]
    fn steps_are_cut_at_stages() {
        static IMPORT: Pass = Pass { name: "import", effect: Effect::Reach(Stage::Imported), ..IDLE };
        static PLAN: Pass = Pass { name: "plan", effect: Effect::Reach(Stage::Planned), ..IDLE };
        static CLEAN: Pass = Pass { name: "clean", effect: Effect::Rewrite, ..IDLE };
        let steps = |passes: &[&'static Pass]| Steps(passes.iter().map(|pass| Step::new(pass)).collect());
        let names = |steps: Steps| steps.iter().map(|step| step.pass.name).collect::<Vec<_>>().join(" ");
        let all = steps(&[&CLEAN, &IMPORT, &CLEAN, &PLAN, &IDLE]);
        let cut = |stage: Stage| [all.before(stage), all.from(stage), all.until(stage), all.after(stage)].map(names);
        assert_eq!(cut(Stage::Imported), ["clean", "import clean plan idle", "clean import", "clean plan idle"]);
        // No pass moves the program to this stage.
        assert_eq!(cut(Stage::Propagated), ["clean import clean", "plan idle", "clean import", "clean plan idle"]);
        assert_eq!(cut(Stage::Planned), ["clean import clean", "plan idle", "clean import clean plan", "idle"]);
        assert_eq!(cut(Stage::Exported), ["clean import clean plan idle", "", "clean import clean plan", "idle"]);
        assert_eq!(names(all.clone().silent()), "clean import clean plan");
        assert_eq!(names(steps(&[&CLEAN]).after(Stage::Imported)), "clean");
    }

    #[test]
    fn passes_move_programs_on_and_never_back() {
        static IMPORT: Pass = Pass { name: "import", effect: Effect::Reach(Stage::Imported), ..IDLE };
        static PLAN: Pass = Pass {
            name: "plan",
            effect: Effect::Reach(Stage::Planned),
            run: |program, _, _| {
                let main = program.block_ops(program.body())[0];
                program.copy_op(main);
            },
            ..IDLE
        };
        let mut program = dialect::parse("func.func @main() { return }", &mut Diagnostics::default());
        let read = program.op_count();
        let steps = [&PLAN, &IMPORT, &PLAN].map(Step::new);
        assert!(run_unverified(&mut program, &steps[..1]));
        assert!(run_passes(&mut program, &steps[1..], &mut |_, _| {}).ok());
        let created = |op: usize| program.op(dialect::ir::Op::new(op)).created;
        assert_eq!(program.stage(), Stage::Planned);
        assert!((0..read).all(|op| created(op) == Stage::Parsed));
        assert_eq!([read, read + 1].map(created), [Stage::Planned; 2]);
    }
}
