//! `shardc opt`: parse, verify, run passes, print; with the conventions of mlir-opt.

use dialect::ir::Program;
use dialect::text::PrintOptions;

use passes::Step;

use super::Common;
use crate::cli::expectation;
use crate::cli::knobs::GroupForm;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Compiler, Diagnostics, Source, Watch};

const EXAMPLES: &str = "\
Examples:
  shardc opt model.mlir                                  check it and print it in canonical form
  shardc opt --passes propagate model.mlir               what Shardy's propagation makes of it
  shardc opt --passes import,propagate,plan model.mlir   with the collectives of the plan
  shardc opt --split-input-file --verify-diagnostics tests.mlir";

/// Run passes over a program and print it
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Passes in order, with options in braces: a,b{option=value other=value}
    #[arg(long, value_name = "LIST", default_value = "")]
    passes: String,
    /// Treat the text between lines of '// -----' as programs of their own
    #[arg(long)]
    split_input_file: bool,
    /// Compare diagnostics with the comments '// expected-error@+1 {{text}}'
    #[arg(long)]
    verify_diagnostics: bool,
    /// Print the program after these passes, or after 'all', on the error stream
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    print_after: Vec<String>,
    /// Verify the program after every pass, to find the one that breaks it; else before the first and after the last
    #[arg(long)]
    verify_each: bool,
    /// Report the seconds each pass takes, on the error stream
    #[arg(long)]
    timing: bool,
    /// Print source locations
    #[arg(long, visible_alias = "mlir-print-debuginfo")]
    locations: bool,
    /// Print every op in MLIR's generic form
    #[arg(long, visible_alias = "mlir-print-op-generic")]
    generic: bool,
    /// Leave the annotation each axis comes from as Shardy's sdy.sharding_origins, where the pass propagate runs;
    /// explain reads it
    #[arg(long)]
    show_origins: bool,
    /// Print why each collective is there
    #[arg(long)]
    causes: bool,
    /// Print the groups of collectives as lists of devices, or as axes of the mesh where they are along some
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    groups: GroupForm,
}

/// What `--help` says after the flags: examples, and the passes and pipelines of the registry.
pub(crate) fn help(compiler: &Compiler) -> String {
    let mut text = format!("{EXAMPLES}\n\nPasses:\n");
    for pass in compiler.passes().passes() {
        text.push_str(&format!("  {:<12} {}\n", pass.name, pass.doc));
        for option in pass.options {
            text.push_str(&format!("    {}={} (default: {})\n", option.name, option.ty, option.default));
            text.push_str(&format!("        {}\n", option.doc));
        }
    }
    text.push_str("\nPipelines:\n");
    for pipeline in compiler.passes().pipelines() {
        text.push_str(&format!("  {:<12} {}\n               = {}\n", pipeline.name, pipeline.doc, pipeline.passes));
    }
    text.trim_end().to_owned()
}

/// Parses `--passes` into steps; reports what is wrong with it.
fn steps(session: &mut Session<'_>, text: &str) -> Result<Vec<Step>, Failure> {
    session.compiler.passes().parse(text).map_err(|faults| {
        let source = Source::new("--passes", text);
        match session.report(&source, &Diagnostics::new(&source, &faults)) {
            Err(Failure::Said) | Ok(()) => Failure::SaidUsage,
            Err(other) => other,
        }
    })
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let mut steps = steps(session, &args.passes)?;
    if args.show_origins {
        for step in steps.iter_mut().filter(|s| s.pass.options.iter().any(|o| o.name == "origins")) {
            step.options.set(step.pass.options, "origins", "true").map_err(Failure::Usage)?;
        }
    }
    let print = PrintOptions {
        locations: args.locations,
        generic: args.generic,
        causes: args.causes,
        group_axes: args.groups == GroupForm::Axes,
        local_scope: false,
    };
    let parts = if args.split_input_file { source.split() } else { vec![source] };
    let (mut printed, mut failed) = (Vec::new(), false);
    for part in &parts {
        let mut shown = String::new();
        let mut after = |program: &Program, step: &Step| {
            if args.print_after.iter().any(|p| p == "all" || p == step.pass.name) {
                let text = dialect::print_with(program, print);
                shown.push_str(&format!("// -----// after {} //----- //\n{text}\n", step.pass.name));
            }
        };
        let mut watch = Watch { after: Some(&mut after), verify_each: args.verify_each, ..Watch::default() };
        let compiler = session.compiler.clone();
        let parsed = compiler.parse_unverified(part.clone(), &mut watch);
        let gave = parsed.and_then(|module| compiler.run_steps(module, &steps, &mut watch));
        let times = watch.times;
        session.say(&shown)?;
        if args.timing {
            session.say_times(&times)?;
        }
        printed.extend(gave.value.map(|module| compiler.print(&module, print)));
        let mut diagnostics = gave.diagnostics;
        if args.verify_diagnostics {
            diagnostics = expectation::compare(part, &diagnostics);
        }
        match session.report(part, &diagnostics) {
            Ok(()) => {}
            Err(Failure::Said) => failed = true,
            Err(other) => return Err(other),
        }
    }
    session.emit(args.common.output.as_deref(), &printed.join("// -----\n"))?;
    if failed { Err(Failure::Said) } else { Ok(()) }
}
