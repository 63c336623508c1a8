//! `shardc compile`: the whole pipeline, printed at one of its ends.

use clap::ValueEnum;
use dialect::ir::Program;
use dialect::text::PrintOptions;

use super::Common;
use crate::cli::pipeline::{self, Knobs, Stage, Watch};
use crate::cli::session::{Failure, Outcome, Session};
use crate::execution;
use crate::source::Source;

const EXAMPLES: &str = "\
Examples:
  shardc compile model.mlir                      what each device runs, as StableHLO
  shardc compile model.mlir --emit sdy           the whole program with its collectives
  shardc compile model.mlir --emit manual        for JAX: jax.export or xla_client run it on any backend
  shardc compile model.mlir --target v5p:4x4x4   plan for a slice of TPUs
  shardc compile model.mlir --plan greedy        what Shardy would have done, to compare

The per-device program keeps, on every argument and result of @main, its global type and sharding
(shardc.global_type, shardc.sharding), and the meshes on the module (shardc.meshes).";

/// Compile to the program that each device runs
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// What to write
    #[arg(long, value_enum, value_name = "FORM", default_value = "stablehlo")]
    emit: Emit,
    #[command(flatten)]
    knobs: Knobs,
    /// Report the seconds each pass takes, on the error stream
    #[arg(long)]
    timing: bool,
    /// Print source locations
    #[arg(long, visible_alias = "mlir-print-debuginfo")]
    locations: bool,
    /// Print why each collective is there
    #[arg(long)]
    causes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// The global program with Shardy's collectives
    Sdy,
    /// The per-device program
    Stablehlo,
    /// The per-device program as one sdy.manual_computation under the global signature
    Manual,
    /// The kernels of the per-device program as MLIR, for this processor
    Linalg,
    /// The kernels as LLVM IR
    Llvm,
}

/// The program's kernels, as MLIR or as LLVM IR.
fn kernels(session: &mut Session<'_>, source: &Source, program: Program, llvm: bool) -> Result<String, Failure> {
    match execution::kernels(program, llvm) {
        Ok(text) => Ok(text),
        Err(diagnostics) => {
            session.report(source, &diagnostics)?;
            Err(Failure::Said)
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args, session: &mut Session<'_>) -> Outcome {
    session.want_json(args.common.json);
    let source = session.read(&args.common.input)?;
    let stage = match args.emit {
        Emit::Sdy => Stage::Planned,
        Emit::Stablehlo | Emit::Linalg | Emit::Llvm => Stage::PerDevice,
        Emit::Manual => Stage::Manual,
    };
    let print = PrintOptions { locations: args.locations, generic: false, causes: args.causes };
    let watch = Watch { timing: args.timing, print, ..Watch::default() };
    let program = pipeline::compile(session, &source, stage, &args.knobs, &watch)?;
    let text = match args.emit {
        Emit::Linalg => kernels(session, &source, program, false)?,
        Emit::Llvm => kernels(session, &source, program, true)?,
        _ => dialect::print_with(&program, print),
    };
    session.emit(args.common.output.as_deref(), &text)
}
