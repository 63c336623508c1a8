//! JAX and XLA run what `compile --emit manual` writes for every program of the corpus, and must get the results that
//! JAX got from the program itself.
//!
//! `make test` makes the Python environment under `target/`; without it, and without `SHARDC_ORACLES=1`, there is no
//! judge and the test says so.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The environment's Python, if `make` has made it.
fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    Some(target.join("oracles/bin/python")).filter(|p| p.exists())
}

/// `compile --emit manual` of one program.
fn manual(program: &Path) -> Result<String, String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["compile".as_ref(), program.as_os_str(), "--emit".as_ref(), "manual".as_ref()];
    let io = shardc::Io { stdin: &mut std::io::empty(), out: &mut out, err: &mut err, out_color: false, err_color: false };
    match shardc::run(args, io) {
        0 => String::from_utf8(out).map_err(|e| e.to_string()),
        code => Err(format!("exit code {code}: {}", String::from_utf8_lossy(&err))),
    }
}

#[test]
fn xla_runs_our_programs_with_the_same_results() {
    let Some(python) = python() else {
        assert!(std::env::var_os("SHARDC_ORACLES").is_none(), "no Python environment: run `make oracles`");
        eprintln!("skipped: run `make oracles` for the Python environment with JAX");
        return;
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    fs::create_dir_all(&out).unwrap();
    let mut folders: Vec<PathBuf> = fs::read_dir(&corpus).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 43, "found only {} programs", folders.len());

    let (mut cases, mut failures) = (String::new(), Vec::new());
    for folder in &folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        match manual(&folder.join("program.mlir")) {
            Ok(text) => {
                let program = out.join(format!("{name}.mlir"));
                fs::write(&program, text).unwrap();
                let (inputs, expected) = (folder.join("inputs.npz"), folder.join("expected.npz"));
                let case = json!({ "name": name, "program": program, "inputs": inputs, "expected": expected });
                cases.push_str(&format!("{case}\n"));
            }
            Err(why) => failures.push(format!("{name}: not compiled: {why}")),
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracles/xla.py");
    let mut judge =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = judge.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(cases.as_bytes()));
    let output = judge.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let mut judged = failures.len();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let verdict: Value = serde_json::from_str(line).unwrap();
        judged += 1;
        if let Some(error) = verdict["error"].as_str() {
            failures.push(format!("{}: {error}", verdict["name"].as_str().unwrap_or("?")));
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let tail: String = said.chars().skip(said.chars().count().saturating_sub(2000)).collect();
    assert_eq!(judged, folders.len(), "the judge stopped early:\n{tail}");
    assert!(failures.is_empty(), "{} of {} programs fail:\n{}", failures.len(), folders.len(), failures.join("\n"));
}
