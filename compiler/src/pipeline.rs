//! From text to program through passes: what every command starts with.

use std::time::Duration;

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use dialect::op::OpDef;
use dialect::text::PrintOptions;
use passes::{Pass, Step};

use crate::session::{Failure, Outcome, Session};
use crate::source::Source;

/// The known ops and passes; others add theirs.
pub struct Registry {
    /// Ops by name.
    pub ops: dialect::op::Registry,
    /// Passes by name.
    pub passes: passes::Registry,
}

impl Registry {
    /// Everything shardc knows.
    pub fn standard() -> Self {
        Self { ops: dialect::op::Registry::standard(), passes: passes::Registry::standard() }
    }

    /// With more ops; a later one replaces one of the same name.
    pub fn with_ops(mut self, ops: &[&'static dyn OpDef]) -> Self {
        self.ops = self.ops.with_ops(ops);
        self
    }

    /// With more passes; a later one replaces one of the same name.
    pub fn with_passes(mut self, passes: &[&'static Pass]) -> Self {
        self.passes = self.passes.with_passes(passes);
        self
    }
}

/// What to tell about passes while they run.
#[derive(Default)]
pub(crate) struct Watch {
    /// Print the program after these passes; `all` for every one.
    pub print_after: Vec<String>,
    /// Report seconds per pass.
    pub timing: bool,
    /// How to print.
    pub print: PrintOptions,
}

/// Parses and verifies `source`, and says what is wrong with it.
pub(crate) fn parse(session: &mut Session<'_>, source: &Source) -> Result<Program, Failure> {
    let (program, diagnostics) = parse_quietly(session, source);
    session.report(source, &diagnostics)?;
    Ok(program)
}

/// The same, but gives the diagnostics back.
pub(crate) fn parse_quietly(session: &Session<'_>, source: &Source) -> (Program, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse_with(&source.text, &session.registry.ops, &mut diagnostics);
    if !diagnostics.has_errors() {
        dialect::verify(&program, &mut diagnostics);
    }
    (program, diagnostics)
}

/// Runs `steps` and says what they find.
pub(crate) fn run(session: &mut Session<'_>, source: &Source, program: &mut Program, steps: &[Step], watch: &Watch) -> Outcome {
    let diagnostics = run_quietly(session, program, steps, watch)?;
    session.report(source, &diagnostics)
}

/// The same, but gives the diagnostics back.
pub(crate) fn run_quietly(
    session: &mut Session<'_>,
    program: &mut Program,
    steps: &[Step],
    watch: &Watch,
) -> Result<Diagnostics, Failure> {
    let mut shown = String::new();
    let report = passes::run_passes(program, steps, &mut |program, step| {
        if watch.print_after.iter().any(|p| p == "all" || p == step.pass.name) {
            let text = dialect::print_with(program, watch.print);
            shown.push_str(&format!("// -----// after {} //----- //\n{text}\n", step.pass.name));
        }
    });
    session.say(&shown)?;
    if watch.timing {
        session.say(&timing_table(&report.timings, report.verify_time))?;
    }
    Ok(report.diagnostics)
}

fn timing_table(timings: &[(&'static str, Duration)], verify: Duration) -> String {
    let total: Duration = timings.iter().map(|t| t.1).sum::<Duration>() + verify;
    let rows = timings.iter().copied().chain([("verify", verify), ("total", total)]);
    rows.map(|(name, time)| {
        let share = 100.0 * time.as_secs_f64() / total.as_secs_f64().max(1e-9);
        format!("{:>10.6} s {share:>5.1} %  {name}\n", time.as_secs_f64())
    })
    .collect()
}

/// `--passes` as steps; says what is wrong with it.
pub(crate) fn steps(session: &mut Session<'_>, text: &str) -> Result<Vec<Step>, Failure> {
    match session.registry.passes.parse(text) {
        Ok(steps) => Ok(steps),
        Err(diagnostics) => {
            let source = Source::new("--passes", text);
            match session.report(&source, &diagnostics) {
                Err(Failure::Said) | Ok(()) => Err(Failure::SaidUsage),
                Err(other) => Err(other),
            }
        }
    }
}

/// The standard passes of these names, with their options at the defaults; names nobody knows are left out.
pub(crate) fn named_steps(session: &Session<'_>, names: &[&str]) -> Vec<Step> {
    names.iter().filter_map(|name| session.registry.passes.get(name)).map(Step::new).collect()
}
