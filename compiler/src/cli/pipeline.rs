//! From text to program through passes: what every command starts with.

use std::time::{Duration, Instant};

use dialect::diagnostic::Diagnostics;
use dialect::ir::Program;
use dialect::op::OpDef;
use dialect::text::PrintOptions;
use passes::estimate::Target;
use passes::{Pass, Step};

use crate::cli::session::{Failure, Outcome, Session};
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

/// Parses `source`, verifies it and runs `steps`; what any of these find is in the diagnostics. Without a program there
/// were errors.
pub(crate) fn load(
    session: &mut Session<'_>,
    source: &Source,
    steps: &[Step],
    watch: &Watch,
) -> Result<(Option<Program>, Diagnostics), Failure> {
    let mut diagnostics = Diagnostics::default();
    let start = Instant::now();
    let mut program = dialect::parse_with(&source.text, &session.registry.ops, &mut diagnostics);
    if !diagnostics.has_errors() {
        diagnostics.append(run_steps(session, &mut program, steps, watch, start.elapsed())?);
    }
    let valid = !diagnostics.has_errors();
    Ok((valid.then_some(program), diagnostics))
}

/// Parses and verifies `source`, and says what is wrong with it.
pub(crate) fn parse(session: &mut Session<'_>, source: &Source) -> Result<Program, Failure> {
    let (program, diagnostics) = load(session, source, &[], &Watch::default())?;
    session.report(source, &diagnostics)?;
    program.ok_or(Failure::Said)
}

/// Runs `steps` and says what they find.
pub(crate) fn run(session: &mut Session<'_>, source: &Source, program: &mut Program, steps: &[Step]) -> Outcome {
    let diagnostics = run_steps(session, program, steps, &Watch::default(), Duration::ZERO)?;
    session.report(source, &diagnostics)
}

fn run_steps(
    session: &mut Session<'_>,
    program: &mut Program,
    steps: &[Step],
    watch: &Watch,
    parse: Duration,
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
        session.say(&timing_table(&report.timings, report.verify_time, parse))?;
    }
    Ok(report.diagnostics)
}

fn timing_table(timings: &[(&'static str, Duration)], verify: Duration, parse: Duration) -> String {
    let total: Duration = timings.iter().map(|t| t.1).sum::<Duration>() + verify + parse;
    let rows =
        [("parse", parse)].into_iter().chain(timings.iter().copied()).chain([("verify", verify), ("total", total)]);
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

/// How far to compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Every value has its sharding.
    Propagated,
    /// The global program with every change of distribution as a collective.
    Planned,
    /// What each device runs.
    PerDevice,
    /// What each device runs, wrapped for JAX under the global signature.
    Manual,
}

/// The passes that take a program to each stage.
const STAGES: [(Stage, &[&str]); 4] = [
    (Stage::Propagated, &["import", "propagate", "unify-meshes"]),
    (Stage::Planned, &["plan"]),
    (Stage::PerDevice, &["partition", "schedule"]),
    (Stage::Manual, &["manual"]),
];

/// What decides about a compilation, for every command that compiles.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Knobs {
    /// Search for the cheapest communication, or take each op's own cheapest as Shardy does
    #[arg(long, value_enum, value_name = "HOW", default_value = "full")]
    pub(crate) plan: Plan,
    /// The slice of TPUs to plan for, like v5e:4x4; a flat model without it
    #[arg(long, value_name = "SLICE")]
    pub(crate) target: Option<String>,
    /// At most this much memory on each device, like 8GiB
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<String>,
}

/// How to choose communication.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Plan {
    /// The cheapest that is found for the whole program.
    #[default]
    Full,
    /// The cheapest for each op alone.
    Greedy,
}

/// The target that `knobs` name, the flat model without one.
pub(crate) fn target(knobs: &Knobs) -> Result<Target, Failure> {
    Target::parse(knobs.target.as_deref().unwrap_or("flat")).map_err(|e| Failure::Usage(format!("--target: {e}")))
}

/// The passes up to `stage`, set up as `knobs` say.
fn stage_steps(session: &Session<'_>, stage: Stage, knobs: &Knobs) -> Result<Vec<Step>, Failure> {
    steps_between(session, None, stage, knobs)
}

/// The passes that lead from one stage, or from the parsed program, to a later one.
pub(crate) fn steps_between(
    session: &Session<'_>,
    from: Option<Stage>,
    to: Stage,
    knobs: &Knobs,
) -> Result<Vec<Step>, Failure> {
    let wanted = STAGES.iter().filter(|s| from.is_none_or(|from| from < s.0) && s.0 <= to);
    set_up(session, wanted.flat_map(|s| s.1), to, knobs)
}

/// The passes of these names that there are, set up as `knobs` say, on the way to a stage.
fn set_up<'n>(
    session: &Session<'_>,
    names: impl Iterator<Item = &'n &'n str>,
    to: Stage,
    knobs: &Knobs,
) -> Result<Vec<Step>, Failure> {
    target(knobs)?;
    // What the user fixed stays: unlike JAX, whose borders must divide, the partitioner pads.
    let mut settings: Vec<(&str, &str, &str)> = vec![("keep-annotated", "", "true")];
    settings.push(("search", "--plan", if knobs.plan == Plan::Greedy { "greedy" } else { "full" }));
    settings.extend(knobs.target.as_deref().map(|t| ("target", "--target", t)));
    settings.extend(knobs.memory.as_deref().map(|m| ("memory", "--memory", m)));
    if to == Stage::Manual {
        settings.push(("several-operands", "--emit", "false"));
    }
    let mut steps: Vec<Step> = names.filter_map(|name| session.registry.passes.get(name)).map(Step::new).collect();
    for step in &mut steps {
        for &(option, flag, value) in &settings {
            if step.pass.options.iter().any(|o| o.name == option) {
                let set = step.options.set(step.pass.options, option, value);
                set.map_err(|_| Failure::Usage(format!("{flag} can't be '{value}'")))?;
            }
        }
    }
    Ok(steps)
}

/// Compiles `source` up to `stage` and says what is wrong with it.
pub(crate) fn compile(
    session: &mut Session<'_>,
    source: &Source,
    stage: Stage,
    knobs: &Knobs,
    watch: &Watch,
) -> Result<Program, Failure> {
    let steps = stage_steps(session, stage, knobs)?;
    let (program, diagnostics) = load(session, source, &steps, watch)?;
    session.report(source, &diagnostics)?;
    program.ok_or(Failure::Said)
}
