//! `shardc explain`: why each collective is there, and what would remove it.

use serde::Serialize;

use super::Common;
use crate::cli::knobs::Knobs;
use crate::cli::render::render;
use crate::cli::session::{Outcome, Session};
use crate::units;
use crate::{Diagnostic, ExplainOptions, Explanation, Source, ValueExplanation};

const EXAMPLES: &str = "\
Examples:
  shardc explain model.mlir
  shardc explain model.mlir --target v5e:4x4     priced for a slice of TPUs
  shardc explain model.mlir --tries 0            without looking for changes
  shardc explain model.mlir --value %12          how one value lies, and why
  shardc explain model.mlir --json               one line for a script
  shardc compile --emit sdy --causes model.mlir | shardc explain -    the plan that was printed

For each collective: its bytes and modelled time, the value that moves and the op that needs it, the annotations their axes come
from, and the one annotation whose change removes it at the least cost. Print a program with source lines for the lines of the
model: .as_text(debug_info=True).";

/// Say why each collective is there and what would remove it
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Try at most this many changed annotations [default: 64, fewer for programs of more than 400 ops]
    #[arg(long, value_name = "N")]
    tries: Option<usize>,
    /// Say instead how this value of the text lies, and which annotations brought it there: %12, %arg0, %0#1
    #[arg(long, value_name = "NAME")]
    value: Option<String>,
    #[command(flatten)]
    knobs: Knobs,
}

/// What `--value --json` prints.
#[derive(Serialize)]
struct Values {
    /// Every value with that name.
    values: Vec<ValueExplanation>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
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
    let options = ExplainOptions { compile: options, tries: args.tries };
    let explained = parsed.and_then(|module| compiler.explain(module, &options));
    let explanation = session.take_flag(&source, explained, "target-size", "--target")?;
    let mut text = headline(&explanation);
    text.push_str(&remarks(args, session, &source, explanation.collectives.iter().map(|c| &c.remark)));
    session.set_document(&explanation);
    finish(args, session, &text)
}

fn remarks<'a>(
    args: &Args,
    session: &Session<'_>,
    source: &Source,
    remarks: impl Iterator<Item = &'a Diagnostic>,
) -> String {
    render(source, remarks, session.io.out_color && args.common.output.is_none())
}

fn finish(args: &Args, session: &mut Session<'_>, text: &str) -> Outcome {
    session.emit(args.common.output.as_deref(), text.trim_end_matches('\n'))?;
    session.print("\n")
}

fn headline(explanation: &Explanation) -> String {
    let Explanation { target, step_s, collectives } = explanation;
    let total: f64 = collectives.iter().map(|c| c.time_s).sum();
    match collectives.len() {
        0 => format!("no collectives: nothing is sent ({} a step, target {target})\n", units::seconds(*step_s)),
        n => {
            let s = if n == 1 { "" } else { "s" };
            let (total, step) = (units::seconds(total), units::seconds(*step_s));
            format!("{n} collective{s}, {total} of communication in a step of {step} (target {target})\n\n")
        }
    }
}
