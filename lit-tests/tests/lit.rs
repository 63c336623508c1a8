//! Runs every `.mlir` file of this package and compares the output of `shardc` with the snapshot beside it.
//!
//! A file begins with `// RUN: shardc …` lines, where `%s` is the file. A `not` before `shardc` expects a nonzero exit
//! code; `|` pipes the output of one command into the next. The snapshot `x.snap` of `x.mlir` holds standard output and
//! the error stream. `cargo test -p shardc-lit-tests --test lit -- propagate/dot` runs one file; `INSTA_UPDATE=always`
//! writes new snapshots, which are then reviewed before they are committed.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, root, &mut files);
    files.sort();
    let tests: Vec<PathBuf> = files.iter().filter(|f| f.extension().is_some_and(|e| e == "mlir")).cloned().collect();
    let mut trials = vec![Trial::test("every snapshot has its program", move || orphans(root, &files))];
    for file in tests {
        let name = file.with_extension("").display().to_string();
        trials.push(Trial::test(name, move || check(root, &file)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// All files below `folder`, relative to `root`.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the package's folders can be read") {
        let path = entry.expect("the package's files can be read").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).expect("it is below the root").to_owned());
        }
    }
}

fn orphans(root: &Path, files: &[PathBuf]) -> Result<(), Failed> {
    let snapshots = files.iter().filter(|f| f.extension().is_some_and(|e| e == "snap"));
    let lost: Vec<String> =
        snapshots.filter(|f| !root.join(f).with_extension("mlir").exists()).map(|f| f.display().to_string()).collect();
    if lost.is_empty() { Ok(()) } else { Err(format!("snapshots without a program: {}", lost.join(", ")).into()) }
}

fn check(root: &Path, file: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(root.join(file))?;
    let runs: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("// RUN: ")).collect();
    if runs.is_empty() || !text.starts_with("// RUN: ") {
        return Err("the first line is no '// RUN: shardc …'".into());
    }
    let mut shown = String::new();
    for run in &runs {
        if runs.len() > 1 {
            let _ = writeln!(shown, "$ {run}");
        }
        shown.push_str(&command(run, root, file)?);
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root.join(file).parent().expect("a file is in a folder"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let stem = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
    settings.bind(|| insta::assert_snapshot!(stem, shown));
    Ok(())
}

/// Runs `shardc a | shardc b` and returns the last output, then the error streams of all commands.
fn command(run: &str, root: &Path, file: &Path) -> Result<String, Failed> {
    let (mut input, mut said) = (Vec::new(), String::new());
    for part in run.split(" | ") {
        let mut words = part.split_whitespace().peekable();
        let fails = words.next_if_eq(&"not").is_some();
        if words.next() != Some("shardc") {
            return Err(format!("expected 'shardc' in '{part}'").into());
        }
        let args = words.map(|w| w.replace("%s", &file.display().to_string()));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let io = shardc::Io {
            stdin: &mut input.as_slice(),
            out: &mut out,
            err: &mut err,
            out_color: false,
            err_color: false,
        };
        let code = in_folder(root, || shardc::run(args, io));
        said.push_str(&String::from_utf8(err)?);
        if (code != 0) != fails {
            return Err(format!("'{part}' ended with exit code {code}\n{said}").into());
        }
        if fails {
            let _ = writeln!(said, "exit code {code}");
        }
        input = out;
    }
    let mut shown = String::from_utf8(input)?;
    if !said.is_empty() {
        let _ = write!(shown, "{}--- error stream ---\n{said}", if shown.is_empty() { "" } else { "\n" });
    }
    Ok(shown)
}

/// Checks that the working folder is the package, where cargo starts its tests: paths in arguments and messages are
/// relative to it.
fn in_folder<T>(root: &Path, run: impl FnOnce() -> T) -> T {
    let here = std::env::current_dir().expect("there is a current folder");
    assert_eq!(here, root, "start the tests with cargo, or from {}", root.display());
    run()
}
