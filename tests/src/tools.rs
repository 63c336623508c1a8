//! Other programs that tests run, and the files that they exchange.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::needs;

/// The folder of LLVM and MLIR, which `make setup` installs.
pub const LLVM: &str = "/usr/lib/llvm-22";

/// Returns an empty folder below the target folder, for one test alone.
///
/// # Panics
/// If it can't be made.
pub fn scratch(name: &str) -> PathBuf {
    let folder = needs::target(env!("OUT_DIR")).join("tmp").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Returns the root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in the workspace")
}

/// Returns `mlir-opt`.
pub fn mlir_opt() -> Command {
    Command::new(Path::new(LLVM).join("bin/mlir-opt"))
}

/// Returns what a process wrote.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Runs a command and returns its output.
///
/// # Panics
/// If it doesn't start or fails.
#[track_caller]
pub fn ok(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", said(&output).chars().take(4000).collect::<String>());
    output
}
