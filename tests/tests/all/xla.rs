//! XLA runs the output of `compile --emit manual`, and the form for XLA without Shardy. Programs of the corpus must
//! give the results that JAX got from the original program. Lit tests that run `check` must give the results of the
//! reference evaluator (the lit test shows that the partitioned program is equivalent to the plain one).

use std::fs;
use std::path::{Path, PathBuf};

use dialect::codes;
use serde_json::{Value, json};
use shardc::{
    Backend, CompileOptions, Compiler, Diagnostics, ExecuteOptions, Interface, PrintOptions, Source, random_inputs,
};
use shardc_tests::oracle;

/// Returns a folder below the target folder for files that tests write.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs the cases in XLA and fails if there are errors. `failures` are earlier errors.
fn judge(python: &Path, cases: Vec<Value>, mut failures: Vec<String>) {
    let count = cases.len();
    let (verdicts, said) = oracle::judge(python, "xla.py", cases.into_iter());
    for verdict in &verdicts {
        if let Some(error) = verdict["error"].as_str() {
            failures.push(format!("{}: {error}", verdict["name"].as_str().unwrap_or("?")));
        }
    }
    assert_eq!(verdicts.len(), count, "the judge stopped early:\n{said}");
    assert!(failures.is_empty(), "{} of {count} programs fail:\n{}", failures.len(), failures.join("\n"));
}

/// The pipelines whose output XLA reads: the one of `compile --emit manual`, and the one for XLA without Shardy.
const FORMS: [&str; 2] = ["compile-manual", "compile-gspmd"];

/// Returns the output of a pipeline for one program.
fn through(compiler: &Compiler, pipeline: &str, source: Source) -> Result<String, Diagnostics> {
    let module = compiler.parse(source);
    let done = module.and_then(|m| compiler.compile(m, pipeline, &CompileOptions::default())).into_result()?;
    Ok(compiler.print(&done, PrintOptions::default()))
}

/// Returns whether all diagnostics are about features that JAX's runtime lacks.
fn only_refused(found: &Diagnostics) -> bool {
    let known = [codes::MANUAL_REPLICAS, codes::UNREDUCED_RESULT, codes::UNRELATED_MESHES, codes::MANUAL_TOPOLOGY];
    found.list.iter().all(|d| known.iter().any(|code| d.code == code.name()))
}

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn xla_runs_our_programs_with_the_same_results() {
    let python = oracle::made("oracles");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let out = scratch("manual");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&corpus).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    assert!(folders.len() >= 43, "found only {} programs", folders.len());

    let compiler = Compiler::standard();
    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    for folder in &folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(folder.join("program.mlir")).unwrap();
        for pipeline in FORMS {
            let name = format!("{name} through {pipeline}");
            match through(&compiler, pipeline, Source::new(&name, text.clone())) {
                Ok(text) => {
                    let program = out.join(format!("{name}.mlir"));
                    fs::write(&program, text).unwrap();
                    let (inputs, expected) = (folder.join("inputs.npz"), folder.join("expected.npz"));
                    cases.push(json!({ "name": name, "program": program, "inputs": inputs, "expected": expected }));
                }
                Err(why) => failures.push(format!("{name}: not compiled: {:?}", why.list)),
            }
        }
    }
    judge(&python, cases, failures);
}

/// Returns the lit tests that compare a partitioned program with the plain one and find no difference.
fn checked_lit_tests() -> Vec<PathBuf> {
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../lit-tests")).unwrap();
    let folders = folders.map(|e| e.unwrap().path()).filter(|p| p.is_dir());
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()));
    let asks = |text: String| text.lines().any(|l| l.starts_with("// RUN: shardc check ") && !l.contains("--spmd"));
    let mut files: Vec<PathBuf> =
        files.filter(|p| p.extension().is_some_and(|e| e == "mlir") && asks(fs::read_to_string(p).unwrap())).collect();
    files.sort();
    files
}

/// Programs for which XLA departs from the specification; for these, XLA's own results on one device are the reference.
const AS_ON_ONE_DEVICE: [&str; 2] = [
    // XLA drops windows that aren't completely inside; the specification drops only the elements outside.
    "partition-scatter_of_whole_windows",
    // XLA uses the initial value of a reduction as its identity, and doesn't combine it with padding.
    "plan-scan_in_parts",
];

/// Programs that XLA isn't tested with.
const NOT_ASKED: [&str; 11] = [
    // A CPU's default memory has another name than the device memory that the text asks for.
    "cost-host_result",
    // Only measured tolerances can judge them, because they round so often.
    "check-bf16_inside_f32",
    "check-deep_tanh",
    // XLA can't run it on CPUs.
    "check-ragged_all_to_all",
    // The test script gives each device the whole value of an unreduced argument.
    "import-parts_unsaid",
    "plan-unreduced_argument",
    "propagate-keep_annotated_parts",
    // It has ops of `check`, which XLA doesn't know.
    "run-row_major_matrices",
    // JAX in the test script has no 64-bit types.
    "complaints-12_update_of_doubles",
    "complaints-21_random_numbers",
    // JAX's parser doesn't support linalg.
    "partition-linalg",
];

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn xla_agrees_on_what_is_checked() {
    let python = oracle::made("oracles");
    let out = scratch("manual-checked");
    let compiler = Compiler::standard();
    let (mut cases, mut failures) = (Vec::new(), Vec::new());
    for file in checked_lit_tests() {
        let name = format!(
            "{}-{}",
            file.parent().unwrap().file_name().unwrap().display(),
            file.file_stem().unwrap().display()
        );
        // Effects need the Python process that wrote them; the package's own tests compare them with JAX.
        if NOT_ASKED.contains(&&*name) || name.starts_with("effects-") {
            continue;
        }
        let source = Source::new(&name, fs::read_to_string(&file).unwrap());
        let texts: Result<Vec<String>, Diagnostics> =
            FORMS.into_iter().map(|form| through(&compiler, form, source.clone())).collect();
        let texts = match texts {
            Ok(texts) => texts,
            Err(why) => {
                if !only_refused(&why) {
                    failures.push(format!("{name}: not compiled: {:?}", why.list));
                }
                continue;
            }
        };
        // The reference evaluator returns the results of each device.
        let compiled = compiler.parse(source).and_then(|m| compiler.compile(m, "compile", &CompileOptions::default()));
        let device = compiled.value.expect("it was compiled");
        let inputs = random_inputs(&Interface::of(&device).expect("it was compiled").arguments, 1, 1);
        let reference = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
        let Some(results) = compiler.execute(&device, &inputs, &reference).value.map(|e| e.results) else {
            failures.push(format!("{name}: not evaluated"));
            continue;
        };
        let path = |kind: &str| out.join(format!("{name}.{kind}"));
        for (kind, prefix, values) in [("in.npz", "arg", &inputs[0]), ("out.npz", "out", &results[0])] {
            let named: Vec<_> = values.iter().enumerate().map(|(i, v)| (format!("{prefix}{i}"), v.clone())).collect();
            runtime::npz::write_file(&path(kind), &named).unwrap();
        }
        for (form, text) in FORMS.iter().zip(texts) {
            let (program, named) = (path(&format!("{form}.mlir")), format!("{name} through {form}"));
            fs::write(&program, text).unwrap();
            let mut case =
                json!({ "name": named, "program": program, "inputs": path("in.npz"), "expected": path("out.npz") });
            if AS_ON_ONE_DEVICE.contains(&&*name) {
                case["plain"] = json!(file);
            }
            cases.push(case);
        }
    }
    assert!(cases.len() >= 80, "found only {} programs", cases.len());
    judge(&python, cases, failures);
}
