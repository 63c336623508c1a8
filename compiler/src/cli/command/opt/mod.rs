//! `shardc opt`: parses, verifies, runs passes and prints, with the conventions and flags of mlir-opt.

mod flags;
mod printing;

use std::ffi::OsString;
use std::path::PathBuf;

use dialect::text::PrintOptions;
use passes::Step;

use self::printing::Dump;
use crate::cli::expectation::{self, Unexpected};
use crate::cli::json::Json;
use crate::cli::knobs::GroupForm;
use crate::cli::progress;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Diagnostics, Source, Watch};

pub(crate) use flags::{add, double_dashes, listed, without_truth};

/// Run passes over a program and print it
#[derive(clap::Args)]
pub(crate) struct OptArgs {
    /// The program: text of MLIR with StableHLO and Shardy; '-' is standard input
    #[arg(value_name = "IN", default_value = "-")]
    input: OsString,
    /// Write the result to this file instead of standard output
    #[arg(short, value_name = "OUT", long)]
    output: Option<PathBuf>,
    /// Write one line of JSON to standard output instead of the text; --json=last writes it after the text
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    json: Option<Json>,
    /// Passes in order, with options in braces: a,b{option=value other=value}; each is also a flag: --a
    /// --b=option=value
    #[arg(long, value_name = "LIST")]
    passes: Vec<String>,
    /// The same in mlir-opt's syntax: builtin.module(a,func.func(b))
    #[arg(long, value_name = "LIST", conflicts_with = "passes")]
    pass_pipeline: Option<String>,
    /// Passes and their options as the command line has them, in its order: filled from its flags
    #[arg(skip)]
    pub(crate) listed: Vec<Listed>,
    /// Treat the parts between lines with '// -----', or with the marker, as separate programs
    #[arg(long, value_name = "MARKER", num_args = 0..=1, require_equals = true, default_missing_value = "// -----")]
    split_input_file: Option<String>,
    /// The line to print between the programs
    #[arg(long, value_name = "MARKER", default_value = "// -----")]
    output_split_marker: String,
    /// Compare diagnostics with the comments '// expected-error@+1 {{text}}'; 'only-expected' ignores others
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    verify_diagnostics: Option<Unexpected>,
    /// Print the program after these passes, or after 'all', on the error stream
    #[arg(long, visible_alias = "mlir-print-ir-after", value_name = "PASS", value_delimiter = ',')]
    print_after: Vec<String>,
    /// Print the program before these passes, or before 'all', on the error stream
    #[arg(long, visible_alias = "mlir-print-ir-before", value_name = "PASS", value_delimiter = ',')]
    print_before: Vec<String>,
    /// Print the program after each pass, on the error stream
    #[arg(long)]
    mlir_print_ir_after_all: bool,
    /// Print the program before each pass, on the error stream
    #[arg(long)]
    mlir_print_ir_before_all: bool,
    /// Verify the program after every pass, to find the one that breaks it, instead of before the first only
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_parser = clap::builder::BoolishValueParser::new())]
    verify_each: Option<bool>,
    /// Print the program without verifying it; passes need a verified program
    #[arg(long = "mlir-very-unsafe-disable-verifier-on-parsing")]
    unverified: bool,
    /// Report the seconds of each pass on the error stream
    #[arg(long, visible_alias = "mlir-timing")]
    timing: bool,
    /// Report the statistics of each pass, such as the moves that the planner evaluated and applied, on the error
    /// stream
    #[arg(long, visible_alias = "mlir-pass-statistics")]
    statistics: bool,
    /// Print the passes that will run, in the syntax of --pass-pipeline, on the error stream
    #[arg(long)]
    dump_pass_pipeline: bool,
    /// Print source locations
    #[arg(long, visible_alias = "mlir-print-debuginfo")]
    locations: bool,
    /// Print each location where it is used, instead of aliases after the module
    #[arg(long, visible_alias = "mlir-print-local-scope")]
    local_scope: bool,
    /// Print every op in MLIR's generic form
    #[arg(long, visible_alias = "mlir-print-op-generic")]
    generic: bool,
    /// Read ops of other dialects in generic form, which is always the case
    #[arg(long)]
    allow_unregistered_dialect: bool,
    /// Print the whole module between passes, which is always the case
    #[arg(long)]
    mlir_print_ir_module_scope: bool,
    /// Run passes on one thread, which is always the case
    #[arg(long)]
    mlir_disable_threading: bool,
    /// Make the pass propagate write the annotation that each axis comes from as Shardy's sdy.sharding_origins; explain
    /// reads it
    #[arg(long)]
    show_origins: bool,
    /// Print the reason for each collective
    #[arg(long)]
    causes: bool,
    /// Print the groups of collectives as lists of devices, or as axes of the mesh where possible
    #[arg(long, value_enum, value_name = "FORM", default_value_t)]
    groups: GroupForm,
    /// Write MLIR bytecode instead of text
    #[arg(long)]
    emit_bytecode: bool,
}

/// Passes listed by one flag.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Listed {
    /// Its position on the command line.
    pub(crate) at: usize,
    /// The flag, `--passes`.
    pub(crate) flag: String,
    /// The passes, in the syntax of `--passes`.
    pub(crate) passes: String,
}

/// Parses the lists of passes into steps and reports their faults.
fn steps(session: &mut Session<'_>, listed: &[Listed]) -> Result<Vec<Step>, Failure> {
    let mut steps = Vec::new();
    for Listed { flag, passes, .. } in listed {
        match session.compiler.passes().parse(passes) {
            Ok(more) => steps.extend(more.0),
            Err(faults) => {
                let source = Source::new(flag.clone(), passes.clone());
                return Err(match session.report(&source, &Diagnostics::new(&source, &faults)) {
                    Err(Failure::Said) | Ok(()) => Failure::SaidUsage,
                    Err(other) => other,
                });
            }
        }
    }
    Ok(steps)
}

/// Runs the command.
pub(crate) fn run(args: &OptArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.json);
    let output = args.output.as_deref();
    if args.emit_bytecode {
        session.check_binary(output)?;
    }
    let mut steps = steps(session, &args.listed)?;
    if args.unverified && !steps.is_empty() {
        let message = "--mlir-very-unsafe-disable-verifier-on-parsing: passes need a verified program";
        return Err(Failure::Usage(message.to_owned()));
    }
    let source = session.read(&args.input)?;
    if args.show_origins {
        for step in steps.iter_mut().filter(|s| s.pass.options.iter().any(|o| o.name == "origins")) {
            step.options.set(step.pass.options, "origins", "true").map_err(Failure::Usage)?;
        }
    }
    if args.dump_pass_pipeline {
        session.say(&printing::pipeline(&steps))?;
    }
    let print = PrintOptions {
        locations: args.locations,
        local_scope: args.local_scope,
        generic: args.generic,
        causes: args.causes,
        group_axes: args.groups == GroupForm::Axes,
    };
    let dump = Dump {
        after: args.mlir_print_ir_after_all.then_some("all").into_iter().chain(words(&args.print_after)).collect(),
        before: args.mlir_print_ir_before_all.then_some("all").into_iter().chain(words(&args.print_before)).collect(),
        print,
    };
    dump.check(&session.compiler)?;
    if args.verify_diagnostics.is_some() {
        session.say_lines();
    }
    // An empty marker means no splitting, as in LLVM.
    let marker = args.split_input_file.as_ref().filter(|marker| !marker.is_empty());
    let parts = marker.map_or_else(|| vec![source.clone()], |marker| source.split_at(marker));
    if args.emit_bytecode && parts.len() > 1 {
        let message = format!("--emit-bytecode writes one program, but the input has {}", parts.len());
        return Err(Failure::Usage(message));
    }
    let (mut printed, mut failed) = (Vec::new(), false);
    for part in &parts {
        match run_part(args, session, &steps, &dump, part, &mut printed) {
            Ok(()) => {}
            Err(Failure::Said) => failed = true,
            Err(other) => return Err(other),
        }
    }
    session.emit_program(output, &printed.join(format!("{}\n", args.output_split_marker).as_bytes()))?;
    if failed { Err(Failure::Said) } else { Ok(()) }
}

/// Runs the passes over one program of the input and adds what they make of it to `printed`.
fn run_part(
    args: &OptArgs,
    session: &mut Session<'_>,
    steps: &[Step],
    dump: &Dump<'_>,
    part: &Source,
    printed: &mut Vec<Vec<u8>>,
) -> Outcome {
    let compiler = session.compiler.clone();
    let mut shown = String::new();
    let mut watch = Watch { verify_each: args.verify_each.unwrap_or(false), ..Watch::default() };
    let parsed = compiler.parse_unverified(part.clone(), &mut watch);
    if let (Some(module), Some(first)) = (&parsed.value, steps.first()) {
        dump.before(module.program(), first, &mut shown);
    }
    let (done, times) = progress::of_passes(&part.name, steps, |count| {
        let mut over = 0;
        let mut after = |program: &dialect::ir::Program, step: &Step| {
            count();
            over += 1;
            dump.after(program, step, &mut shown);
            if let Some(next) = steps.get(over) {
                dump.before(program, next, &mut shown);
            }
        };
        let mut watch = Watch { after: Some(&mut after), ..watch };
        let done = match args.unverified {
            true => parsed,
            false => parsed.and_then(|module| compiler.run_steps(module, steps, &mut watch)),
        };
        (done, watch.times)
    });
    session.say(&shown)?;
    if args.timing {
        session.say_times(&times)?;
    }
    if args.statistics {
        session.say_statistics(&times)?;
    }
    printed.extend(done.value.map(|module| match args.emit_bytecode {
        true => compiler.bytecode(&module, dump.print),
        false => compiler.print(&module, dump.print).into_bytes(),
    }));
    let mut diagnostics = done.diagnostics;
    if let Some(unexpected) = args.verify_diagnostics {
        diagnostics = expectation::compare(part, &diagnostics, unexpected);
    }
    session.report(part, &diagnostics)
}

fn words(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(String::as_str)
}
