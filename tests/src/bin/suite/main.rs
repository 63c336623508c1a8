//! Runs the test suites of StableHLO and Shardy from local checkouts, and counts the programs that are parsed, printed,
//! checked and evaluated here as they are there.
//!
//! `suite --stablehlo DIR --shardy DIR [--python PYTHON] [--only TEXT] [--part NAME] [--all]`
//!
//! Prints the number of passing cases in each part, then the failures grouped by reason. The suites themselves are not
//! part of this repository.

mod diagnostics;
mod evaluate;
mod executable;
mod report;
mod reread;
mod text;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use report::{Outcome, Report};

/// A set of files and how to test each.
struct Part {
    name: &'static str,
    /// The option that gives the checkout's path.
    checkout: &'static str,
    /// The folder inside the checkout.
    folder: &'static str,
    /// Whether to include subfolders.
    deep: bool,
    run: Run,
}

/// How a part processes its files.
enum Run {
    /// One file at a time: the outcomes of the cases in its text.
    File(fn(&str) -> Vec<Outcome>),
    /// All files at once, parsed by jaxlib under `--python`.
    Reread,
}

#[rustfmt::skip]
static PARTS: &[Part] = &[
    Part { name: "testdata-text", checkout: "--stablehlo", folder: "stablehlo/testdata", deep: false, run: Run::File(text::round_trip) },
    Part { name: "testdata-run", checkout: "--stablehlo", folder: "stablehlo/testdata", deep: false, run: Run::File(evaluate::file) },
    Part { name: "dynamic-text", checkout: "--stablehlo", folder: "stablehlo/testdata/dynamic", deep: false, run: Run::File(text::round_trip) },
    Part { name: "quantized-text", checkout: "--stablehlo", folder: "stablehlo/testdata/quantized", deep: false, run: Run::File(text::round_trip) },
    Part { name: "quantized-run", checkout: "--stablehlo", folder: "stablehlo/testdata/quantized", deep: false, run: Run::File(evaluate::file) },
    Part { name: "testdata-reread", checkout: "--stablehlo", folder: "stablehlo/testdata", deep: false, run: Run::Reread },
    Part { name: "stablehlo-reread", checkout: "--stablehlo", folder: "stablehlo/tests", deep: true, run: Run::Reread },
    Part { name: "shardy-reread", checkout: "--shardy", folder: "shardy/dialect/sdy/ir/test", deep: true, run: Run::Reread },
    Part { name: "interpret-text", checkout: "--stablehlo", folder: "stablehlo/tests/interpret", deep: true, run: Run::File(text::round_trip) },
    Part { name: "interpret-run", checkout: "--stablehlo", folder: "stablehlo/tests/interpret", deep: true, run: Run::File(evaluate::file) },
    Part { name: "stablehlo-text", checkout: "--stablehlo", folder: "stablehlo/tests", deep: false, run: Run::File(text::round_trip) },
    Part { name: "transforms-text", checkout: "--stablehlo", folder: "stablehlo/tests/transforms", deep: false, run: Run::File(text::round_trip) },
    Part { name: "stablehlo-diagnostics", checkout: "--stablehlo", folder: "stablehlo/tests", deep: false, run: Run::File(diagnostics::same_lines) },
    Part { name: "shardy-text", checkout: "--shardy", folder: "shardy/dialect/sdy", deep: true, run: Run::File(text::round_trip) },
    Part { name: "shardy-executable", checkout: "--shardy", folder: "shardy/dialect/sdy/transforms", deep: true, run: Run::File(executable::file) },
    Part { name: "mpmd-text", checkout: "--shardy", folder: "shardy/dialect/mpmd", deep: true, run: Run::File(text::round_trip) },
    Part { name: "mpmd-diagnostics", checkout: "--shardy", folder: "shardy/dialect/mpmd/ir/test", deep: true, run: Run::File(diagnostics::same_lines) },
    Part { name: "shardy-diagnostics", checkout: "--shardy", folder: "shardy/dialect/sdy", deep: true, run: Run::File(diagnostics::same_lines) },
];

fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let flag = |name: &str| args.iter().any(|a| a == name);
    let mut failed = false;
    let mut ran = false;
    for part in PARTS {
        let Some(checkout) = value(part.checkout) else { continue };
        if value("--part").is_some_and(|p| p != part.name) {
            continue;
        }
        let folder = Path::new(checkout).join(part.folder);
        let only = value("--only").unwrap_or("");
        let files: Vec<PathBuf> =
            files(&folder, part.deep).into_iter().filter(|f| f.to_string_lossy().contains(only)).collect();
        if files.is_empty() {
            eprintln!("no file to run under {}", folder.display());
            return 2.into();
        }
        let report = match part.run {
            Run::File(judge) => run(judge, &folder, &files),
            Run::Reread => match value("--python") {
                Some(python) => reread::files(Path::new(python), &texts(&folder, &files)),
                None => {
                    println!("{}: needs --python, the Python of an environment with JAX", part.name);
                    continue;
                }
            },
        };
        report.print(part.name, files.len(), flag("--all"));
        failed |= report.failures() > 0;
        ran = true;
    }
    if !ran {
        eprintln!(
            "usage: suite --stablehlo DIR --shardy DIR [--python PYTHON] [--part NAME] [--only TEXT] [--all]\nparts:"
        );
        PARTS.iter().for_each(|p| eprintln!("  {} ({})", p.name, p.checkout));
        return 2.into();
    }
    u8::from(failed).into()
}

/// Returns the text of each file, by its name.
fn texts(folder: &Path, files: &[PathBuf]) -> Vec<(String, String)> {
    let name = |f: &Path| f.strip_prefix(folder).unwrap_or(f).to_string_lossy().into_owned();
    files.iter().filter_map(|f| Some((name(f), std::fs::read_to_string(f).ok()?))).collect()
}

/// Runs `judge` over the files, two at a time.
fn run(judge: fn(&str) -> Vec<Outcome>, folder: &Path, files: &[PathBuf]) -> Report {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut report = Report::default();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned();
            match std::fs::read_to_string(file) {
                Ok(text) => {
                    // A panic counts as a failure of its file and doesn't end the run.
                    let outcomes = std::panic::catch_unwind(|| judge(&text));
                    report.add(&name, outcomes.unwrap_or_else(|_| vec![Outcome::failed("panic", "")]));
                }
                Err(e) => report.add(&name, vec![Outcome::failed("unreadable", e.to_string())]),
            }
        }
        report
    };
    let mut report = Report::default();
    std::thread::scope(|scope| {
        let spawn = || std::thread::Builder::new().stack_size(1 << 28).spawn_scoped(scope, work).expect("a thread");
        let threads: Vec<_> = (0..2).map(|_| spawn()).collect();
        for thread in threads {
            report.append(thread.join().expect("panics are caught"));
        }
    });
    report
}

/// Returns all `.mlir` files of a folder, sorted; with `deep`, including subfolders.
fn files(folder: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.extend(deep.then_some(path));
            } else if path.extension().is_some_and(|e| e == "mlir") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the programs of a file, each with the number of its first line. Lines of `// -----` separate programs,
/// unless the `RUN` lines don't split the file.
fn programs(text: &str) -> Vec<(usize, &str)> {
    if text.contains("// RUN:") && !text.contains("split-input-file") {
        return vec![(0, text)];
    }
    let mut pieces = Vec::new();
    let (mut start, mut first, mut at) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        if line.starts_with("// -----") {
            pieces.push((first, &text[start..at - line.len()]));
            (start, first) = (at, number + 1);
        }
    }
    pieces.push((first, &text[start..]));
    pieces
}
