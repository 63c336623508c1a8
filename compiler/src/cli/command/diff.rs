//! `shardc diff`: compares the costs of two plans.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use passes::plan::Search;

use crate::cli::json::Json;
use crate::cli::knobs::Knobs;
use crate::cli::phrase;
use crate::cli::session::{Failure, Outcome, Session};
use crate::units;
use crate::{CollectiveDiff, CompileOptions, Cost, CostDiff};

const EXAMPLES: &str = "\
Examples:
  shardc diff before.mlir after.mlir                     two annotations of a model
  shardc diff before.mlir after.mlir --target v5e:2x4    on a slice of eight chips
  shardc diff model.mlir                                 the greedy plan of a program, and the full one
  shardc diff device.mlir model.mlir                     a compiled program, priced as it is
  shardc diff before.mlir after.mlir --json              one line for a script

Seconds are those of 'shardc cost': modelled, of one step. Collectives are compared by kind and
axes, and by source line, the largest differences first.";

/// Compare the costs of two programs, or of two plans of one program
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    /// The first program; '-' is standard input
    #[arg(value_name = "A")]
    before: OsString,
    /// The second program [default: compare the greedy plan of the first program with its full plan]
    #[arg(value_name = "B")]
    after: Option<OsString>,
    /// Write the table to this file instead of standard output
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write one line of JSON to standard output instead of the text; --json=last writes it after the text
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    json: Option<Json>,
    /// The number of source lines to show
    #[arg(long, value_name = "N", default_value_t = 10)]
    show: usize,
    #[command(flatten)]
    knobs: Knobs,
}

/// Runs the command.
pub(crate) fn run(args: &DiffArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.json);
    let options = args.knobs.options(session)?;
    let plan = |search: Search| CompileOptions { search, ..options.clone() };
    let (names, before, after) = match &args.after {
        Some(after) if args.before == "-" && after == "-" => {
            return Err(Failure::Usage("only one of the two programs can be standard input".to_owned()));
        }
        Some(after) => {
            let costs = (cost(&args.before, &options, session)?, cost(after, &options, session)?);
            (["A", "B"], costs.0, costs.1)
        }
        None => {
            let source = session.read(&args.before)?;
            if session.is_device_program(&source) {
                let message = "a compiled program has only one plan: name a second program to compare it with";
                return Err(Failure::Usage(message.to_owned()));
            }
            let greedy = cost_of(source.clone(), &plan(Search::Greedy), session)?;
            (["greedy", "full"], greedy, cost_of(source, &plan(Search::Full), session)?)
        }
    };
    let diff = CostDiff::new(before, after);
    session.set_document(&diff);
    session.emit(args.output.as_deref(), &text(&diff, names, args.show))
}

fn cost(input: &std::ffi::OsStr, options: &CompileOptions, session: &mut Session<'_>) -> Result<Cost, Failure> {
    let source = session.read(input)?;
    cost_of(source, options, session)
}

fn cost_of(source: crate::Source, options: &CompileOptions, session: &mut Session<'_>) -> Result<Cost, Failure> {
    let module = session.device_program(source, options)?;
    let cost = session.compiler.estimate(&module, options);
    session.take_flag(module.source(), cost, "target-size", "--target")
}

fn text(diff: &CostDiff, names: [&str; 2], show: usize) -> String {
    let mut text = String::new();
    let (a, b) = (&diff.before, &diff.after);
    let devices = match a.devices == b.devices {
        true => format!("{} devices", a.devices),
        false => format!("{} and {} devices", a.devices, b.devices),
    };
    let _ = writeln!(text, "target {}: {devices}", a.target);
    let _ = writeln!(text, "  {:<16}{:>12} {:>12}", "", names[0], names[1]);
    let mut row = |name: &str, unit: fn(f64) -> String, a: f64, b: f64| {
        phrase::row(&mut text, &format!("  {name:<16}{:>12} {:>12}  {}", unit(a), unit(b), change(a, b)));
    };
    row("step", units::seconds, a.step_s, b.step_s);
    row("compute", units::seconds, a.compute_s, b.compute_s);
    row("communication", units::seconds, a.communication_s, b.communication_s);
    row("exposed", units::seconds, a.exposed_s, b.exposed_s);
    row("arithmetic", units::flops, a.flops, b.flops);
    row("memory traffic", units::bytes, a.memory_traffic, b.memory_traffic);
    row("peak memory", units::bytes, a.peak_bytes as f64, b.peak_bytes as f64);
    if [a, b].iter().any(|cost| cost.host_peak_bytes > 0) {
        row("host memory", units::bytes, a.host_peak_bytes as f64, b.host_peak_bytes as f64);
        row("host copies", units::seconds, a.host_copy_s, b.host_copy_s);
    }
    table("collectives", &diff.kinds, usize::MAX, &mut text);
    table("source lines that differ", &diff.lines, show, &mut text);
    text
}

fn table(title: &str, list: &[CollectiveDiff], show: usize, text: &mut String) {
    if list.is_empty() {
        return;
    }
    let both = |of: &dyn Fn(&crate::CollectiveSum) -> String, d: &CollectiveDiff| {
        let (a, b) = (of(&d.before), of(&d.after));
        if a == b { a } else { format!("{a} -> {b}") }
    };
    let rows: Vec<[String; 4]> = list
        .iter()
        .take(show)
        .map(|d| {
            [
                both(&|sum| units::seconds(sum.time_s), d),
                both(&|sum| sum.count.to_string(), d),
                both(&|sum| units::bytes(sum.result_bytes as f64), d),
                d.name.clone(),
            ]
        })
        .collect();
    let heads = ["time", "times", "received"];
    let width = |i: usize| rows.iter().map(|row| row[i].len()).max().unwrap_or(0).max(heads[i].len());
    let (time, times, bytes) = (width(0), width(1), width(2));
    let _ = writeln!(text, "{title}");
    let _ = writeln!(text, "  {:>time$}  {:>times$}  {:>bytes$}", heads[0], heads[1], heads[2]);
    for [seconds, count, received, name] in &rows {
        let _ = writeln!(text, "  {seconds:>time$}  {count:>times$}  {received:>bytes$}  {name}");
    }
    if list.len() > rows.len() {
        let _ = writeln!(text, "  … and {} more", list.len() - rows.len());
    }
}

/// `-19 %`
fn change(before: f64, after: f64) -> String {
    if before == after {
        return String::new();
    }
    if before == 0.0 {
        return "+".to_owned();
    }
    let percent = 100.0 * (after - before) / before;
    if percent.abs() < 0.05 { "±0 %".to_owned() } else { format!("{percent:+.1} %") }
}
