//! `shardc check`: compares the results of the partitioned program with those of the original.

use std::time::Duration;

use super::Common;
use super::run::interface;
use crate::cli::arrays;
use crate::cli::knobs::{Knobs, Tolerances, duration};
use crate::cli::phrase::counted;
use crate::cli::progress::{self, Shown};
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Backend, CheckOptions, CheckProgress, CheckedResult, Source, edge_inputs, random_inputs};

const EXAMPLES: &str = "\
Examples:
  shardc check model.mlir
  shardc check model.mlir --seed 7 --plan greedy
  shardc check model.mlir --budget 30s           check as much as possible in that time
  shardc check model.mlir --edge-cases           with NaN, infinities, ties and indices out of range among the inputs
  shardc check --spmd device.mlir                check a per-device program without running it

The reference evaluator runs the original program, all devices run the partitioned program, and
both get the same random inputs. If a result differs, the first op whose value differs is reported.
Each replica gets different inputs. Integers must be equal. A float may differ by the effect of
rounding on it, which is measured: the evaluator runs the program again with other rounding errors.
With --rtol or --atol, it may differ by --rtol times the expected value plus --atol. If there are
more than 20 results, the equal ones share a line; --json has all.

When the time of --budget is over, the command reports 'partially checked', and what it didn't
check. If the evaluator isn't done, the results are compared with those of the same program run
natively on one device. A result whose rounding couldn't be measured in the time is 'not checked',
unless it differs by more than any rounding explains. The exit code is 0 only if something was
checked and all of it is equal.

--spmd runs nothing: it checks that the members of each group run the same collectives in the same
order. A collective in a loop or branch that two members may decide differently is an error.
Arguments may differ between devices unless they state shardc.global_type; sharded ones also state
shardc.sharding over axes of shardc.meshes, as 'shardc compile' prints them.";

/// Run a program partitioned and unpartitioned and compare every result
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    common: Common,
    /// The arguments: an .npz archive with arg0, arg1, ...
    #[arg(long, value_name = "NPZ", conflicts_with = "seed")]
    inputs: Option<std::path::PathBuf>,
    /// Generate random inputs from this seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Generate inputs that include NaN, infinities, equal values, the largest integers and indices out of range
    #[arg(long, conflicts_with = "inputs")]
    edge_cases: bool,
    /// Run the partitioned program with the reference evaluator, too
    #[arg(long)]
    interpret: bool,
    /// Stop after this time, compilation excluded, and report what wasn't checked: seconds, or 30s, 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Check without running it that no device of a per-device program waits for another forever
    #[arg(long, conflicts_with_all = ["inputs", "seed", "edge_cases", "interpret", "budget", "rtol", "atol", "plan", "target", "memory", "warn", "deny", "allow"])]
    spmd: bool,
    #[command(flatten)]
    tolerances: Tolerances,
    #[command(flatten)]
    knobs: Knobs,
}

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    if args.spmd {
        return spmd(args, session, &source);
    }
    let options = args.knobs.options(session)?;
    let compiler = session.compiler.clone();
    let module = session.take(&source, compiler.parse(source.clone()))?;
    let interface = interface(&module)?;
    session.take(&source, compiler.runnable(&module))?;
    session.take(&source, compiler.fits_in_memory(&module))?;
    let inputs = match &args.inputs {
        Some(path) => arrays::read(session, module.program(), path, "arg", &interface.arguments, interface.replicas)?,
        None if args.edge_cases => edge_inputs(&interface.arguments, args.seed, interface.replicas),
        None => random_inputs(&interface.arguments, args.seed, interface.replicas),
    };
    let backend = if args.interpret { Backend::Reference } else { Backend::default() };
    let check = CheckOptions { backend, tolerance: args.tolerances.into(), budget: args.budget, ..Default::default() };
    let show = if args.common.json.is_some() { Shown::OnTerminals } else { Shown::Everywhere };
    let checked = progress::shown(
        show,
        || how_far(&check.progress, args.budget),
        || compiler.check(&module, &inputs, &options, &check),
    );
    let checked = session.take(&source, checked)?;
    let mut text = results(&checked.results, interface.replicas);
    if let Some(culprit) = &checked.culprit {
        text.push_str(&format!("{culprit}\n"));
    }
    let passed = checked.decided() && !checked.differs();
    for unchecked in &checked.unchecked {
        text.push_str(&format!("{}: {unchecked}\n", if passed { "partially checked" } else { "not checked" }));
    }
    session.set_document(&checked);
    session.emit(args.common.output.as_deref(), &text)?;
    if passed { Ok(()) } else { Err(Failure::Said) }
}

/// The number of results that are shown one by one.
const SHOWN: usize = 20;

/// Returns a line for each result; of many results, a line for each that differs and one for all others of a verdict.
fn results(all: &[CheckedResult], replicas: usize) -> String {
    let name = |result: &CheckedResult| match replicas {
        1 => format!("result {}", result.index),
        _ => format!("result {} of replica {}", result.index, result.replica),
    };
    let line = |result: &&CheckedResult| format!("{}: {}\n", name(result), result.comparison.text("equal"));
    if all.len() <= SHOWN {
        return all.iter().map(|result| line(&result)).collect();
    }
    let (equal, rest): (Vec<&CheckedResult>, Vec<_>) = all.iter().partition(|result| result.equal);
    let (differ, unchecked): (Vec<&CheckedResult>, Vec<_>) = rest.into_iter().partition(|result| result.checked);
    let mut text = String::new();
    for (results, what) in [(equal, "equal"), (unchecked, "not checked")] {
        let largest = results.iter().max_by(|a, b| a.max_error.total_cmp(&b.max_error));
        text.push_str(&match (largest, results.len()) {
            (None, _) => String::new(),
            (Some(result), 1) => line(result),
            (Some(result), n) => format!("{n} results are {what}; of the largest error is {}", line(result)),
        });
    }
    text.extend(differ.iter().take(SHOWN).map(line));
    if let Some(more) = differ.len().checked_sub(SHOWN).filter(|&more| more > 0) {
        text.push_str(&format!("{more} more results differ; --json has all\n"));
    }
    text
}

/// Describes the progress of a long check.
fn how_far(progress: &CheckProgress, budget: Option<Duration>) -> String {
    let expected = match progress.expected().filter(|expected| expected.as_secs() >= 3) {
        Some(expected) => format!(", about {} s in all", expected.as_secs()),
        None => String::new(),
    };
    let budget = budget.map_or(String::new(), |budget| format!(", {} s at most", budget.as_secs()));
    format!("checking: {}{expected}{budget}", progress.stage())
}

/// Runs `check --spmd`.
fn spmd(args: &CheckArgs, session: &mut Session<'_>, source: &Source) -> Outcome {
    let compiler = session.compiler.clone();
    let checked = compiler.parse_unverified(source.clone(), &mut Default::default());
    let checked = session.take(source, checked.and_then(|module| compiler.check_spmd(module)))?;
    let collectives = counted(checked.collectives, "collective");
    let text = format!("{collectives}: all members of each group run them in the same order\n");
    session.set_document(&checked);
    session.emit(args.common.output.as_deref(), &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Comparison;

    #[test]
    fn many_results_that_are_equal_share_a_line() {
        let result = |index, wrong: bool| CheckedResult {
            equal: !wrong,
            checked: true,
            max_error: f64::from(u32::from(wrong)) + index as f64,
            max_error_at: None,
            allowed: None,
            count: usize::from(wrong),
            replica: 0,
            index,
            comparison: Comparison { count: usize::from(wrong), undecided: 0, ..Comparison::nothing(4) },
        };
        let few: Vec<CheckedResult> = (0..3).map(|i| result(i, false)).collect();
        assert_eq!(results(&few, 1), "result 0: equal\nresult 1: equal\nresult 2: equal\n");
        let many: Vec<CheckedResult> = (0..100).map(|i| result(i, i % 4 == 0)).collect();
        let text = results(&many, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "75 results are equal; of the largest error is result 99: equal");
        assert_eq!(lines.len(), 1 + SHOWN + 1, "{text}");
        assert_eq!(lines[SHOWN + 1], "5 more results differ; --json has all");
    }

    #[test]
    fn progress_names_each_step_and_its_time() {
        let progress = CheckProgress::default();
        progress.enter("compiling");
        assert_eq!(how_far(&progress, None), "checking: compiling");
        progress.expect(Duration::from_millis(2_900));
        assert_eq!(how_far(&progress, None), "checking: compiling");
        progress.expect(Duration::from_secs(42));
        progress.enter("measuring rounding, evaluation 3 of at most 16");
        let said = "checking: measuring rounding, evaluation 3 of at most 16, about 42 s in all, 30 s at most";
        assert_eq!(how_far(&progress, Some(Duration::from_secs(30))), said);
        // An estimate that was too short isn't repeated.
        progress.expect(Duration::ZERO);
        assert_eq!(how_far(&progress, None), "checking: measuring rounding, evaluation 3 of at most 16");
    }
}
