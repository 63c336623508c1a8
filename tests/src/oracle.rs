//! Running the Python scripts under `oracles/`, which check our programs with JAX's own tools.

use std::io::Write;
use std::ops::Range;
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

/// Returns the verdicts of `script` on the cases, in order.
///
/// # Panics
/// If it ends without a verdict on each.
pub fn verdicts(python: &Path, script: &str, cases: Vec<Value>) -> Vec<Value> {
    let count = cases.len();
    let (verdicts, said) = judge(python, script, cases.into_iter());
    assert_eq!(verdicts.len(), count, "{script} stopped early:\n{said}");
    verdicts
}

/// Checks that `script` finds no error in any case.
///
/// # Panics
/// With the cases that have one.
pub fn accepts(python: &Path, script: &str, cases: Vec<Value>) {
    let verdicts = verdicts(python, script, cases);
    let error = |v: &Value| Some(format!("{}: {}", v["name"], v["error"].as_str()?));
    let errors: Vec<String> = verdicts.iter().filter_map(error).collect();
    assert!(errors.is_empty(), "{script}: {} of {}:\n{}", errors.len(), verdicts.len(), errors.join("\n"));
}

/// Writes the programs of `oracles/random_programs.py` with these seeds, and returns their files.
///
/// # Panics
/// If the generator fails.
pub fn written_programs(folder: &Path, seeds: Range<u64>) -> Vec<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles/write_random.py");
    let (from, to) = (seeds.start.to_string(), seeds.end.to_string());
    let wrote = Command::new("python3").arg(script).arg(folder).args([from, to]).status();
    assert!(wrote.expect("python3 starts").success(), "the generator failed");
    seeds.map(|seed| folder.join(format!("{seed}.mlir"))).collect()
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
