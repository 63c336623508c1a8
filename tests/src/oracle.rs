//! Running the Python scripts under `oracles/`, which check our programs with JAX's own tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Returns the Python of the environment that `make oracles` creates under the target folder `target`. Without it,
/// tests can't check anything and print that they are skipped; with `SHARDC_ORACLES=1` they fail.
pub fn python(target: &Path) -> Option<PathBuf> {
    let python = target.join("oracles/bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "no Python environment: run `make oracles`");
    eprintln!("skipped: run `make oracles` for the Python environment with JAX");
    None
}

/// Returns the Python of the environment that `make python` creates, where the package `shardc` is installed next to
/// JAX.
pub fn package(target: &Path) -> Option<PathBuf> {
    let python = target.join("python/bin/python");
    if target.join("python/installed").exists() {
        return Some(python);
    }
    assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "no Python package: run `make python`");
    eprintln!("skipped: run `make python` for the Python package");
    None
}

/// Returns a file that a target of the Makefile creates below the target folder.
pub fn made(target: &Path, file: &str, by: &str) -> Option<PathBuf> {
    let file = target.join(file);
    if file.exists() {
        return Some(file);
    }
    assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "{} is missing: run `make {by}`", file.display());
    eprintln!("skipped: run `make {by}` for {}", file.display());
    None
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
