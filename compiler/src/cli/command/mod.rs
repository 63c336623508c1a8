//! The subcommands. Each file has the arguments, the help and the code of one.

use std::ffi::OsString;
use std::path::PathBuf;

use super::json::Json;

pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod cost;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod gather;
pub(crate) mod lsp;
pub(crate) mod opt;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;

/// What every command takes.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// The program: StableHLO with Shardy annotations, as text, MLIR bytecode or the output of Exported.serialize();
    /// '-' is standard input
    #[arg(value_name = "IN")]
    pub input: OsString,
    /// Write the result to this file instead of standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Write one line of JSON to standard output instead of the text; --json=last writes it after the text
    #[arg(long, value_enum, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "only")]
    pub json: Option<Json>,
}
