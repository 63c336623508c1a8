//! JAX and XLA run the output of `compile --emit manual` for every program of the corpus, and must get the results that
//! JAX got from the original program.
//!
//! `make test` creates the Python environment under `target/`; without it, and without `SHARDC_ORACLES=1`, the test
//! prints that it is skipped.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use shardc_tests::oracle;

/// The output of `compile --emit manual` for one program.
fn manual(program: &Path) -> Result<String, String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = ["compile".as_ref(), program.as_os_str(), "--emit".as_ref(), "manual".as_ref()];
    let io =
        shardc::Io { stdin: &mut std::io::empty(), out: &mut out, err: &mut err, out_color: false, err_color: false };
    match shardc::run(args, io) {
        0 => String::from_utf8(out).map_err(|e| e.to_string()),
        code => Err(format!("exit code {code}: {}", String::from_utf8_lossy(&err))),
    }
}

#[test]
fn xla_runs_our_programs_with_the_same_results() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below the target folder");
    let Some(python) = oracle::python(target) else { return };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    fs::create_dir_all(&out).unwrap();
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&corpus).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 43, "found only {} programs", folders.len());

    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    for folder in &folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        match manual(&folder.join("program.mlir")) {
            Ok(text) => {
                let program = out.join(format!("{name}.mlir"));
                fs::write(&program, text).unwrap();
                let (inputs, expected) = (folder.join("inputs.npz"), folder.join("expected.npz"));
                cases.push(json!({ "name": name, "program": program, "inputs": inputs, "expected": expected }));
            }
            Err(why) => failures.push(format!("{name}: not compiled: {why}")),
        }
    }
    let mut judged = failures.len();
    let (verdicts, said) = oracle::judge(&python, "xla.py", cases.into_iter());
    for verdict in &verdicts {
        judged += 1;
        if let Some(error) = verdict["error"].as_str() {
            failures.push(format!("{}: {error}", verdict["name"].as_str().unwrap_or("?")));
        }
    }
    assert_eq!(judged, folders.len(), "the judge stopped early:\n{said}");
    assert!(failures.is_empty(), "{} of {} programs fail:\n{}", failures.len(), folders.len(), failures.join("\n"));
}
