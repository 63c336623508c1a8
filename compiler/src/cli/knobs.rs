//! The flags of every command that compiles.

use std::path::Path;
use std::time::Duration;

use passes::options::parse_bytes;
use passes::plan::Search;

use super::session::{Failure, Session};
use crate::{CompileOptions, Microbatches, OverMemory, Replicate, Schedule, Severity, Tolerance};

/// What decides about a compilation, for every command that compiles.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Knobs {
    /// Plan communication for the whole program, or for each op independently, as Shardy does
    #[arg(long, value_enum, value_name = "HOW", default_value = "full")]
    plan: Plan,
    /// The machine to plan for: a slice of TPUs like v5e:4x4, an island of GPUs like h100:8, several of them like
    /// 2xv5e:16x16, cpu for devices that share a processor, or a file that describes a custom machine like acme.toml
    /// ('shardc help targets' describes all) [default: a flat model]
    #[arg(long, value_name = "SLICE|FILE.toml")]
    target: Option<String>,
    /// The maximum memory on each device, like 8GiB
    #[arg(long, value_name = "BYTES")]
    memory: Option<String>,
    /// Split the batch of a program over several meshes into N microbatches; 'auto' chooses the number and the schedule
    /// that the model finds fastest within --memory
    #[arg(long, value_name = "N|auto", value_parser = microbatches)]
    microbatches: Option<Microbatches>,
    /// The order of microbatches in a pipeline [default: the fastest by the model that fits memory]
    #[arg(long, value_enum, value_name = "ORDER")]
    schedule: Option<Order>,
    /// The stages of a pipeline over several meshes: a list of names of jax.named_scope; 'layer*' matches all that
    /// begin with layer
    #[arg(long, value_name = "NAMES")]
    stages: Option<String>,
    /// Assign stages to meshes, like stage0@m0,stage1@m1 [default: balanced by cost]
    #[arg(long, value_name = "NAME@MESH,...")]
    assign: Option<String>,
    /// The number of iterations of each loop whose condition doesn't determine it [default: 8, a guess]
    #[arg(long, value_name = "N")]
    trip_count: Option<u32>,
    /// Report warnings of this kind. 'replicate': each value that is gathered only because an op can't be computed in
    /// shards of a dimension; by default, only those of 64 MiB or more on a device. 'memory': a modelled peak above
    /// --memory or the target's memory; always reported
    #[arg(long, value_enum, value_name = "WHAT")]
    warn: Vec<Lint>,
    /// Make warnings of this kind errors
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Vec<Lint>,
    /// Suppress warnings of this kind
    #[arg(long, value_enum, value_name = "WHAT")]
    allow: Vec<Lint>,
}

/// The kinds of warnings that `--warn`, `--deny` and `--allow` control.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Lint {
    /// Values that are gathered only because an op can't be computed in shards of a dimension
    Replicate,
    /// A modelled peak that is more than a device may hold
    Memory,
}

/// The form in which the groups of collectives are printed.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum GroupForm {
    /// Lists of devices, as JAX writes them
    #[default]
    Lists,
    /// Axes of the mesh, whose text doesn't grow with the number of devices; for permutes, a syntax that only shardc
    /// reads
    Axes,
}

/// The order of microbatches.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    /// The order in the program
    Program,
    /// All forward, then all backward
    Gpipe,
    /// One forward and one backward in turn
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// One forward and one backward in turn, with several stages interleaved on each mesh
    Interleaved,
}

impl From<Order> for Schedule {
    fn from(order: Order) -> Self {
        match order {
            Order::Program => Self::Program,
            Order::Gpipe => Self::Gpipe,
            Order::OneForwardOneBackward => Self::OneForwardOneBackward,
            Order::Interleaved => Self::Interleaved,
        }
    }
}

/// The way to choose communication.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Plan {
    /// The cheapest that is found for the whole program.
    #[default]
    Full,
    /// The cheapest for each op alone.
    Greedy,
}

impl Knobs {
    /// Returns the options for the compiler; refuses undefined targets and invalid sizes.
    pub(crate) fn options(&self, session: &mut Session<'_>) -> Result<CompileOptions, Failure> {
        let target = match &self.target {
            Some(name) if name.ends_with(".toml") => Some(session.add_target(Path::new(name))?),
            name => name.clone(),
        };
        if let Some(name) = &target {
            session.compiler.target(name).map_err(|e| Failure::Usage(format!("--target: {e}")))?;
        }
        let memory = match self.memory.as_deref().unwrap_or_default() {
            "" => None,
            text => Some(parse_bytes(text).ok_or_else(|| Failure::Usage(format!("--memory can't be '{text}'")))?),
        };
        let search = if self.plan == Plan::Greedy { Search::Greedy } else { Search::Full };
        let replicate = match self.severity(Lint::Replicate)? {
            Some(Severity::Remark) => Replicate::Allow,
            Some(Severity::Warning) => Replicate::Warn,
            Some(Severity::Error) => Replicate::Deny,
            None => Replicate::Large,
        };
        let over_memory = match self.severity(Lint::Memory)? {
            Some(Severity::Remark) => OverMemory::Allow,
            Some(Severity::Error) => OverMemory::Deny,
            Some(Severity::Warning) | None => OverMemory::Warn,
        };
        Ok(CompileOptions {
            search,
            target,
            memory,
            replicate,
            over_memory,
            microbatches: self.microbatches,
            schedule: self.schedule.map(Schedule::from),
            stages: self.stages.clone(),
            assign: self.assign.clone(),
            trip_count: self.trip_count,
        })
    }

    /// Returns the severity that `--warn`, `--deny` and `--allow` set for one kind; `None` if none of them names it.
    fn severity(&self, lint: Lint) -> Result<Option<Severity>, Failure> {
        let given = [(&self.allow, Severity::Remark), (&self.warn, Severity::Warning), (&self.deny, Severity::Error)];
        let mut named = given.into_iter().filter(|(lints, _)| lints.contains(&lint)).map(|(_, severity)| severity);
        match (named.next(), named.next()) {
            (_, Some(_)) => {
                Err(Failure::Usage("only one of --warn, --deny and --allow can name a kind of warning".to_owned()))
            }
            (severity, None) => Ok(severity),
        }
    }
}

/// How far floats may be apart, for the commands that compare.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct Tolerances {
    /// The tolerance of floats relative to the expected value [default: the measured effect of rounding on each
    /// element]
    #[arg(long, value_name = "X", value_parser = tolerance, allow_negative_numbers = true)]
    rtol: Option<f64>,
    /// The absolute tolerance of floats, added to --rtol [default: 0 with --rtol]
    #[arg(long, value_name = "X", value_parser = tolerance, allow_negative_numbers = true)]
    atol: Option<f64>,
}

impl Tolerances {
    /// Returns whether the command line sets a tolerance.
    pub(crate) fn are_given(&self) -> bool {
        self.rtol.is_some() || self.atol.is_some()
    }
}

impl From<Tolerances> for Tolerance {
    fn from(given: Tolerances) -> Self {
        Tolerance { relative: given.rtol, absolute: given.atol }
    }
}

/// Parses a number of entries, or `all`.
pub(crate) fn top(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        _ => text.parse().map_err(|_| "expected a number, or all".to_owned()),
    }
}

fn microbatches(text: &str) -> Result<Microbatches, String> {
    match text.parse::<u32>() {
        Ok(count) if count > 0 => Ok(Microbatches::Count(count)),
        _ if text == "auto" => Ok(Microbatches::Auto),
        _ => Err("expected a positive number, or auto".to_owned()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("expected a finite number that is not negative".to_owned()),
    }
}

/// Parses a time like `30s`; a number without a unit is in seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let seconds = digits.parse::<f64>().map_or(f64::NAN, |n| n * unit);
    Duration::try_from_secs_f64(seconds).map_err(|_| "expected a time like 30s, 500ms or 2m".to_owned())
}
