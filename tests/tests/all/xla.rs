//! XLA runs the output of `compile --emit manual`, and the form for XLA without Shardy. Programs of the corpus must
//! give the results that JAX got from the original program. Lit tests that run `check` must give the results of the
//! reference evaluator (the lit test shows that the partitioned program is equivalent to the plain one).

use std::fs;
use std::path::PathBuf;

use dialect::codes;
use serde_json::json;
use shardc::{Backend, CompileOptions, Compiler, Diagnostics, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::corpus::{self, Sample};
use shardc_tests::oracle;
use shardc_tests::sharded::{results, value, write_arrays};
use shardc_tests::tools::{root, scratch};

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
    let (compiler, out) = (Compiler::standard(), scratch("manual"));
    let mut cases = Vec::new();
    for Sample { name, text } in corpus::samples() {
        let [inputs, expected] = ["inputs.npz", "expected.npz"].map(|file| corpus::file(&name, file));
        for pipeline in FORMS {
            let name = format!("{name} through {pipeline}");
            let made = through(&compiler, pipeline, Source::new(&name, &text));
            let program = out.join(format!("{name}.mlir"));
            fs::write(&program, made.unwrap_or_else(|why| panic!("{name}: {why}"))).unwrap();
            cases.push(json!({ "name": name, "program": program, "inputs": inputs, "expected": expected }));
        }
    }
    oracle::accepts(&python, "xla.py", cases);
}

/// Returns the lit tests that compare a partitioned program with the plain one and find no difference.
fn checked_lit_tests() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("lit-tests")).unwrap();
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
fn xla_gives_the_evaluators_results_for_checked_lit_tests() {
    let python = oracle::made("oracles");
    let out = scratch("manual-checked");
    let compiler = Compiler::standard();
    let mut cases = Vec::new();
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
                assert!(only_refused(&why), "{name}: {why}");
                continue;
            }
        };
        // The reference evaluator returns the results of each device.
        let compiled = compiler.parse(source).and_then(|m| compiler.compile(m, "compile", &CompileOptions::default()));
        let device = value(&name, compiled);
        let inputs = random_inputs(&Interface::of(&device).expect("it was compiled").arguments, 1, 1);
        let results = results(&name, &compiler, &device, &inputs, Backend::Reference);
        let path = |kind: &str| out.join(format!("{name}.{kind}"));
        for (kind, prefix, values) in [("in.npz", "arg", &inputs[0]), ("out.npz", "out", &results[0])] {
            write_arrays(&path(kind), prefix, values);
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
    oracle::accepts(&python, "xla.py", cases);
}
