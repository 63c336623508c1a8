//! `shardc compile`: the full pipeline, with the program printed at a chosen stage.

use std::collections::BTreeMap;

use clap::ValueEnum;
use dialect::ir::Program;
use dialect::text::PrintOptions;
use passes::Step;
use serde::Serialize;

use super::Common;
use crate::cli::knobs::{GroupForm, Knobs};
use crate::cli::progress;
use crate::cli::session::{Failure, Outcome, Session};
use crate::{Outcome as Gave, Times, Unit, Watch};

const EXAMPLES: &str = "\
Examples:
  shardc compile model.mlir                      the per-device program, as StableHLO
  shardc compile model.mlir --emit sdy           the whole program with its collectives
  shardc compile model.mlir --emit manual        for JAX: jax.export or xla_client run it on any backend
  shardc compile model.mlir --target v5p:4x4x4   plan for a slice of TPUs
  shardc compile model.mlir --plan greedy        communication chosen op by op as Shardy does, to compare

Comments in the program may state limits; a compiled program that violates one is an error.
  // shardc: expect all_gather <= 4, bytes <= 1 GiB, peak <= 12 GiB
A limit (<=, <, ==, >=, >) applies to the number of collectives of one kind or of all (collectives)
in the per-device program, to the bytes that a device sends in a step, or to its peak memory, as
'shardc cost' prints them for the same --target.

The per-device program states the global type and sharding of every argument and result of @main
(shardc.global_type, shardc.sharding), and the meshes (shardc.meshes).";

/// Compile to the program that each device runs
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CompileArgs {
    #[command(flatten)]
    common: Common,
    /// The form of the program to write
    #[arg(long, value_enum, value_name = "FORM", default_value = "stablehlo")]
    emit: OutputForm,
    #[command(flatten)]
    knobs: Knobs,
    /// Verify the program after every pass, to find the one that breaks it, instead of before the first only
    #[arg(long)]
    verify_each: bool,
    /// Report the seconds of each pass on the error stream, and with --json as data
    #[arg(long)]
    timing: bool,
    /// Report the statistics of each pass, such as the moves that the planner evaluated and applied, on the error
    /// stream, and with --json as data
    #[arg(long)]
    statistics: bool,
    /// Print source locations
    #[arg(long, visible_alias = "mlir-print-debuginfo")]
    locations: bool,
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputForm {
    /// The global program with Shardy's collectives
    Sdy,
    /// The per-device program
    Stablehlo,
    /// The per-device program as one sdy.manual_computation under the global signature
    Manual,
    /// The per-device program as upstream MLIR, which mlir-opt lowers to LLVM: @main, linalg.generic, scf; collectives
    /// are calls of declared functions
    Linalg,
    /// The kernels of native execution, as MLIR for this processor
    Kernels,
    /// The kernels of native execution, as LLVM IR
    Llvm,
}

/// The document of `--json` about the passes.
#[derive(Serialize)]
struct Document {
    passes: Vec<PassReport>,
}

/// One executed pass.
#[derive(Serialize)]
struct PassReport {
    name: &'static str,
    /// Its duration in seconds.
    seconds: f64,
    /// Its statistics by name: counts, modelled seconds, and seconds of its parts.
    #[serde(skip_serializing_if = "Counted::is_empty")]
    counts: Counted,
    #[serde(skip_serializing_if = "Counted::is_empty")]
    modelled_seconds: Counted,
    #[serde(skip_serializing_if = "Counted::is_empty")]
    part_seconds: Counted,
}

type Counted = BTreeMap<&'static str, f64>;

impl Document {
    fn of(times: &Times) -> Self {
        let ran = times.passes.iter().zip(&times.statistics).map(|(&(name, time), (_, statistics))| {
            let of = |unit: Unit| statistics.iter().filter(|s| s.unit == unit).map(|s| (s.name, s.value)).collect();
            let (counts, modelled_seconds, part_seconds) = (of(Unit::Count), of(Unit::Modelled), of(Unit::Time));
            PassReport { name, seconds: time.as_secs_f64(), counts, modelled_seconds, part_seconds }
        });
        Self { passes: ran.collect() }
    }
}

/// Runs the command.
pub(crate) fn run(args: &CompileArgs, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let output = args.common.output.as_deref();
    if args.emit_bytecode {
        if matches!(args.emit, OutputForm::Linalg | OutputForm::Kernels | OutputForm::Llvm) {
            let how = "mlir-opt --emit-bytecode makes it of the text";
            return Err(Failure::Usage(format!("--emit-bytecode: this form is only written as text; {how}")));
        }
        session.check_binary(output)?;
    }
    let source = session.read(&args.common.input)?;
    let pipeline = match args.emit {
        OutputForm::Sdy => "planned",
        OutputForm::Stablehlo | OutputForm::Linalg | OutputForm::Kernels | OutputForm::Llvm => "compile",
        OutputForm::Manual => "compile-manual",
    };
    let options = args.knobs.options(session)?;
    let compiler = session.compiler.clone();
    let steps = compiler.steps(pipeline, &options);
    let steps = session.take(&source, Gave::of(&source, steps))?;
    let shown = source.clone();
    let (compiled, times) = progress::of_passes(&shown.name, &steps, |count| {
        let mut after = |_: &Program, _: &Step| count();
        let mut watch = Watch { after: Some(&mut after), verify_each: args.verify_each, ..Watch::default() };
        let parsed = compiler.parse_unverified(source, &mut watch);
        (parsed.and_then(|module| compiler.run_steps(module, &steps, &mut watch)), watch.times)
    });
    if args.timing {
        session.say_times(&times)?;
    }
    if args.statistics {
        session.say_statistics(&times)?;
    }
    if args.timing || args.statistics {
        session.set_document(&Document::of(&times));
    }
    let module = session.take(&shown, compiled)?;
    // For forms other than the per-device program, checking budgets compiles once more.
    let checked = match args.emit {
        OutputForm::Sdy | OutputForm::Manual => compiler
            .parse_unverified(shown.clone(), &mut Watch::default())
            .and_then(|module| compiler.check_budgets(&module, &options)),
        OutputForm::Stablehlo | OutputForm::Linalg | OutputForm::Kernels | OutputForm::Llvm => {
            compiler.check_budgets(&module, &options)
        }
    };
    session.take(&shown, checked)?;
    let text = match args.emit {
        OutputForm::Linalg => session.take(&shown, compiler.linalg(&module))?,
        OutputForm::Kernels => session.take(&shown, compiler.kernels(&module, false))?,
        OutputForm::Llvm => session.take(&shown, compiler.kernels(&module, true))?,
        _ => {
            let group_axes = args.groups == GroupForm::Axes;
            let print =
                PrintOptions { locations: args.locations, causes: args.causes, group_axes, ..PrintOptions::default() };
            if args.emit_bytecode {
                return session.emit_bytes(output, &compiler.bytecode(&module, print));
            }
            compiler.print(&module, print)
        }
    };
    session.emit_program(output, text.as_bytes())
}
