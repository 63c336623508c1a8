//! The Python scripts under `oracles/` that judge our programs with JAX's own tools.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The Python of the environment that `make oracles` makes under the target folder `target`. Without it there is no judge and the
/// test says so; under `SHARDC_ORACLES=1` that is a failure.
pub fn python(target: &Path) -> Option<PathBuf> {
    let python = target.join("oracles/bin/python");
    if python.exists() {
        return Some(python);
    }
    assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "no Python environment: run `make oracles`");
    eprintln!("skipped: run `make oracles` for the Python environment with JAX");
    None
}

/// Gives `script` the cases, one a line, and returns its verdicts with the end of what it said beside them.
pub fn judge(python: &Path, script: &str, cases: impl Iterator<Item = Value>) -> (Vec<Value>, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles").join(script);
    let cases: String = cases.map(|case| format!("{case}\n")).collect();
    let pipes = || Stdio::piped();
    let child = Command::new(python).arg(script).stdin(pipes()).stdout(pipes()).stderr(pipes()).spawn();
    let mut child = child.expect("Python starts");
    let mut stdin = child.stdin.take().expect("it has a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(cases.as_bytes()));
    let output = child.wait_with_output().expect("Python ends");
    // A judge that stops early leaves the pipe; the missing verdicts tell.
    let _ = writer.join();
    let verdicts =
        String::from_utf8_lossy(&output.stdout).lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    (verdicts, said.chars().skip(said.chars().count().saturating_sub(2000)).collect())
}
