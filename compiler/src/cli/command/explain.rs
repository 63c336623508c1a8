//! `shardc explain`: the cause of each collective and the change that would remove it.

use std::time::Duration;

use serde::Serialize;

use super::Common;
use crate::cli::knobs::{Knobs, duration, top};
use crate::cli::phrase::counted;
use crate::cli::progress;
use crate::cli::render::render;
use crate::cli::session::{Outcome, Session};
use crate::units;
use crate::{CollectiveGroup, Diagnostic, ExplainOptions, Explanation, Source, UnevenDimension, ValueExplanation};

const EXAMPLES: &str = "\
Examples:
  shardc explain model.mlir
  shardc explain model.mlir --target v5e:4x4     priced for a slice of TPUs
  shardc explain model.mlir --top all            all entries, including those that take little time
  shardc explain model.mlir --tries 0            without looking for changes
  shardc explain model.mlir --budget 30s         stop trying changes after that time
  shardc explain model.mlir --value %12          the sharding of one value and its origin
  shardc explain model.mlir --json               one line for a script
  shardc compile --emit sdy --causes model.mlir | shardc explain -    the plan that was printed

Equal collectives of equal layers are one entry, '32 x all_gather': they have the same kind, bytes
and cause, and come from the same line of the model, or from the corresponding lines of several
layers. The most expensive entries come first.

Each entry has the bytes and modelled time, the value that is sent and the op that needs it, the
annotations that their axes come from, and the annotation (one for each layer) whose change removes
the collective at the least cost. Entries have lines of the model if the program was printed with
.as_text(debug_info=True).";

/// Give the reason for each collective and a change that removes it
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    common: Common,
    /// The maximum number of changed annotations to try [default: 64, fewer for programs of more than 400 ops, none
    /// above 25,600]
    #[arg(long, value_name = "N")]
    tries: Option<usize>,
    /// Stop trying changes after this time, like 30s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// The number of entries to show, the most expensive first, or all; one line sums up the others
    #[arg(long, value_name = "N", default_value = "20", value_parser = top)]
    top: usize,
    /// Explain the sharding of this value and the annotations that it comes from instead: %12, %arg0, %0#1
    #[arg(long, value_name = "NAME")]
    value: Option<String>,
    #[command(flatten)]
    knobs: Knobs,
}

/// The document of `--value --json`.
#[derive(Serialize)]
struct Values {
    /// Every value with that name.
    values: Vec<ValueExplanation>,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let options = args.knobs.options(session)?;
    let compiler = session.compiler.clone();
    let parsed = compiler.parse_unverified(source.clone(), &mut Default::default());
    if let Some(name) = &args.value {
        let found = parsed.and_then(|module| compiler.explain_value(module, name, &options));
        let values = session.take_flag(&source, found, "unknown-value", "--value")?;
        let text = remarks(args, session, &source, values.iter().map(|v| &v.remark));
        session.set_document(&Values { values });
        return finish(args, session, &text);
    }
    let options = ExplainOptions { compile: options, tries: args.tries, budget: args.budget };
    let explained = progress::during(
        || "explaining: planning, then planning with changed annotations".to_owned(),
        || parsed.and_then(|module| compiler.explain(module, &options)),
    );
    let explanation = session.take_flag(&source, explained, "target-size", "--target")?;
    let mut text = headline(&explanation);
    text.push_str(&remarks(args, session, &source, explanation.groups.iter().take(args.top).map(|g| &g.remark)));
    text.push_str(&rest(&explanation, args.top));
    session.set_document(&explanation);
    finish(args, session, &text)
}

fn remarks<'a>(
    args: &ExplainArgs,
    session: &Session<'_>,
    source: &Source,
    remarks: impl Iterator<Item = &'a Diagnostic>,
) -> String {
    render(source, remarks, session.io.out_color && args.common.output.is_none())
}

fn finish(args: &ExplainArgs, session: &mut Session<'_>, text: &str) -> Outcome {
    session.emit(args.common.output.as_deref(), text.trim_end_matches('\n'))?;
    session.print("\n")
}

/// `512 collectives, 16 of them different, 3 ms of communication in a step of 9 ms (target v5e:4x2)`
fn headline(explanation: &Explanation) -> String {
    let Explanation { target, step_s, collectives, groups, .. } = explanation;
    let total: f64 = collectives.iter().map(|c| c.time_s).sum();
    let step = units::seconds(*step_s);
    let first = match collectives.len() {
        0 => format!("{} ({step} a step, target {target})\n", nothing_sent(explanation)),
        n => {
            let different =
                if groups.len() < n { format!(", {} of them different", groups.len()) } else { String::new() };
            let total = units::seconds(total);
            let n = counted(n, "collective");
            format!("{n}{different}, {total} of communication in a step of {step} (target {target})\n")
        }
    };
    let gap = if collectives.is_empty() { "" } else { "\n" };
    let untried = match explanation.too_large_to_try {
        true => {
            "no changed annotations were tried, because each try plans this large program again; --tries N tries some\n"
        }
        false => "",
    };
    first + &padding(&explanation.uneven) + untried + gap
}

/// Returns the reason why a program has no collective.
pub(crate) fn nothing_sent(explanation: &Explanation) -> String {
    match (explanation.has_mesh, explanation.is_sharded) {
        (false, _) => NO_MESH.to_owned(),
        (true, false) => {
            format!("no collectives, because no value is sharded and every device computes everything: {SHARD}")
        }
        (true, true) => "no collectives: the devices send no data".to_owned(),
    }
}

/// The message about a program for one device.
pub(crate) const NO_MESH: &str = "the program has no mesh and no shardings, so it runs on one device: add in_shardings \
    to jax.jit, or try 'shardc search --target v5e:2x4'";

/// Advice for a program without shardings.
const SHARD: &str = "add in_shardings to jax.jit, or try 'shardc search --free'";

/// `%x dimension 0: 1000 over 16 devices are padded to 1008, 0.8 % padding`
fn padding(uneven: &[UnevenDimension]) -> String {
    const SHOWN: usize = 3;
    let mut text = String::new();
    for UnevenDimension { value, dim, size, shards, padded, .. } in uneven.iter().take(SHOWN) {
        let share = units::small_percent((padded - size) as f64, *size as f64);
        text +=
            &format!("{value} dimension {dim}: {size} over {shards} devices are padded to {padded}, {share} padding\n");
    }
    if uneven.len() > SHOWN {
        text += &format!("and {} more dimensions are padded\n", uneven.len() - SHOWN);
    }
    text
}

/// Summarizes the groups that aren't shown in one line.
fn rest(explanation: &Explanation, top: usize) -> String {
    let rest: &[CollectiveGroup] = explanation.groups.get(top..).unwrap_or_default();
    if rest.is_empty() {
        return String::new();
    }
    let count: usize = rest.iter().map(|g| g.count).sum();
    let seconds = rest.iter().map(|g| g.time_s).sum();
    let share = units::percent(seconds, explanation.step_s);
    let seconds = units::seconds(seconds);
    format!(
        "{}, {} of them different: {seconds} ({share} of the step); --top all shows them\n",
        counted(count, "more collective"),
        rest.len()
    )
}
