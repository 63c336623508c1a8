//! `shardc gather`: merges the results of a run in several processes.

use std::path::PathBuf;

use runtime::npz;

use crate::cli::joined;
use crate::cli::session::{Failure, Outcome, Session};

const EXAMPLES: &str = "\
Examples:
  mpirun -n 4 shardc run model.mlir --outputs out.npz     write out.0.npz to out.3.npz and out.index.json
  shardc gather out.index.json --outputs out.npz          merge them: out0, out1, ...";

/// Merge the results that several processes wrote
#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct GatherArgs {
    /// The index that `shardc run --outputs` wrote next to the shards
    #[arg(value_name = "INDEX")]
    index: PathBuf,
    /// The .npz archive to write
    #[arg(long, value_name = "NPZ")]
    outputs: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &GatherArgs, _: &mut Session<'_>) -> Outcome {
    let arrays = joined::read(&args.index)?;
    npz::write_file(&args.outputs, &arrays).map_err(Failure::System)
}
