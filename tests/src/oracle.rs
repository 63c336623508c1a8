//! Running the Python scripts under `oracles/`, which check our programs with JAX's own tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::needs;

/// Returns the file that the target `by` of the Makefile creates for tests; see `NEEDS`.
///
/// # Panics
/// If it is missing. Tests that need it are marked with `#[cfg_attr(not(has = "NAME"), ignore)]`.
pub fn made(by: &str) -> PathBuf {
    let found = needs::find(needs::target(env!("OUT_DIR")), by);
    found.unwrap_or_else(|missing| panic!("{} is missing: run `make {by}`", missing.display()))
}

/// Sends the cases to `script`, one per line, and returns its verdicts and the end of its error output.
pub fn judge(python: &Path, script: &str, cases: impl Iterator<Item = Value>) -> (Vec<Value>, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles").join(script);
    let cases: String = cases.map(|case| format!("{case}\n")).collect();
    let pipes = || Stdio::piped();
    let child = Command::new(python).arg(script).stdin(pipes()).stdout(pipes()).stderr(pipes()).spawn();
    let mut child = child.expect("Python starts");
    let mut stdin = child.stdin.take().expect("it has a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(cases.as_bytes()));
    let output = child.wait_with_output().expect("Python ends");
    // If the script stops early, writing fails; the missing verdicts report it.
    let _ = writer.join();
    let verdicts =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    (verdicts, said.chars().skip(said.chars().count().saturating_sub(2000)).collect())
}
