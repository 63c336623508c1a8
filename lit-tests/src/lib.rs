//! Lit tests of a folder: one idea per `.mlir` file, with its snapshot next to it. The tests of shardc are next to this
//! crate. Other projects can use it for their own folders, with a compiler that has more ops, passes, pipelines or
//! targets.
//!
//! A file begins with `// RUN: shardc …` lines, where `%s` is the file and `'…'` is one argument. A `not` before
//! `shardc` expects a nonzero exit code; `|` pipes the output of one command into the next. The snapshot `x.snap` of
//! `x.mlir` contains standard output and the error stream. `INSTA_UPDATE=always` writes new snapshots, which need a
//! review before they are committed.
//!
//! A test without a harness (`harness = false` in the manifest), which takes names of files as filters:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     shardc_lit::Suite::new(concat!(env!("CARGO_MANIFEST_DIR"), "/lit")).run()
//! }
//! ```
//!
//! Within any other test:
//!
//! ```no_run
//! let passed = shardc_lit::Suite::new("lit").with_compiler(shardc::Compiler::standard).check();
//! assert_eq!(passed, Ok(3));
//! ```

use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::Compiler;

/// The lit tests of a folder and its subfolders.
pub struct Suite {
    root: PathBuf,
    compiler: fn() -> Compiler,
}

impl Suite {
    /// Returns the tests below `root`. A relative path starts at the current folder, which cargo sets to that of the
    /// package.
    pub fn new(root: impl AsRef<Path>) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        Self { root: here.join(root), compiler: Compiler::standard }
    }

    /// Sets another compiler, for example one with custom ops, passes, pipelines or targets.
    pub fn with_compiler(self, compiler: fn() -> Compiler) -> Self {
        Self { compiler, ..self }
    }

    /// The `main` of a test: reads filters and flags from the command line, runs the tests and reports them as cargo's
    /// harness does.
    pub fn run(self) -> ExitCode {
        let arguments = Arguments::from_args();
        let suite = Arc::new(self);
        let trials = suite.files().map(|files| {
            let of_all = suite.clone();
            let names = files.clone();
            let orphans = Trial::test("every snapshot has its program", move || of_all.orphans(&names));
            let trial = |file: PathBuf| {
                let (suite, name) = (suite.clone(), file.with_extension("").display().to_string());
                Trial::test(name, move || suite.one(&file))
            };
            std::iter::once(orphans).chain(files.into_iter().filter(|f| is(f, "mlir")).map(trial)).collect()
        });
        match trials {
            Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
            Err(fault) => libtest_mimic::run(&arguments, vec![Trial::test("files", || Err(fault))]).exit_code(),
        }
    }

    /// Runs all tests inside another test; returns their number.
    ///
    /// # Errors
    /// One text for each failure, with the reason.
    pub fn check(&self) -> Result<usize, Vec<String>> {
        let files = self.files().map_err(|fault| vec![said(&fault)])?;
        let mut faults: Vec<String> = self.orphans(&files).err().iter().map(said).collect();
        let tests: Vec<&PathBuf> = files.iter().filter(|f| is(f, "mlir")).collect();
        for file in &tests {
            // A snapshot that differs panics.
            let fault = match catch_unwind(AssertUnwindSafe(|| self.one(file))) {
                Ok(Ok(())) => continue,
                Ok(Err(fault)) => said(&fault),
                Err(_) => "it differs from its snapshot, or panics".to_owned(),
            };
            faults.push(format!("{}: {fault}", file.display()));
        }
        if faults.is_empty() { Ok(tests.len()) } else { Err(faults) }
    }

    /// Returns all files, relative to the root.
    fn files(&self) -> Result<Vec<PathBuf>, Failed> {
        let mut files = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder).map_err(|e| format!("can't read {}: {e}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(&self.root).unwrap_or(&path).to_owned());
                }
            }
        }
        files.sort();
        match files.iter().any(|file| is(file, "mlir")) {
            true => Ok(files),
            false => Err(format!("no program below {}", self.root.display()).into()),
        }
    }

    fn orphans(&self, files: &[PathBuf]) -> Result<(), Failed> {
        let snapshots = files.iter().filter(|f| is(f, "snap"));
        let lost = snapshots.filter(|f| !self.root.join(f).with_extension("mlir").exists());
        let lost: Vec<String> = lost.map(|f| f.display().to_string()).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("snapshots without a program: {}", lost.join(", ")).into()) }
    }

    /// Runs one file.
    fn one(&self, file: &Path) -> Result<(), Failed> {
        let text = fs::read_to_string(self.root.join(file))?;
        let runs: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("// RUN: ")).collect();
        if runs.is_empty() || !text.starts_with("// RUN: ") {
            return Err("the first line is no '// RUN: shardc …'".into());
        }
        let mut shown = String::new();
        for run in &runs {
            if runs.len() > 1 {
                let _ = writeln!(shown, "$ {run}");
            }
            shown.push_str(&self.command(run, file)?);
        }
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(self.root.join(file).parent().unwrap_or(&self.root));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        settings.bind(|| insta::assert_snapshot!(stem, without_rounding(&shown)));
        Ok(())
    }

    /// Returns the name of a file in commands, relative to the current folder, so that messages are the same on every
    /// machine.
    fn shown(&self, file: &Path) -> String {
        let path = self.root.join(file);
        let here = std::env::current_dir().unwrap_or_default();
        path.strip_prefix(here).unwrap_or(&path).display().to_string()
    }

    /// Runs `shardc a | shardc b` and returns the last output, then the error streams of all commands.
    fn command(&self, run: &str, file: &Path) -> Result<String, Failed> {
        let (compiler, path) = ((self.compiler)(), self.shown(file));
        let (mut input, mut said) = (Vec::new(), String::new());
        for part in run.split(" | ") {
            let words = words(part)?;
            let mut words = words.iter().map(String::as_str).peekable();
            let fails = words.next_if_eq(&"not").is_some();
            if words.next() != Some("shardc") {
                return Err(format!("expected 'shardc' in '{part}'").into());
            }
            let args = words.map(|w| w.replace("%s", &path));
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let io = shardc::Io {
                stdin: &mut input.as_slice(),
                out: &mut out,
                err: &mut err,
                out_color: false,
                err_color: false,
            };
            let code = shardc::run_with(&compiler, args, io);
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
}

fn is(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|e| e == extension)
}

/// Removes from the output the largest error of results that count as equal, because rounding differs between
/// processors.
fn without_rounding(text: &str) -> String {
    let line = |line: &str| match line.split_once(": equal (largest error ") {
        Some((result, _)) => format!("{result}: equal (but for rounding)\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn said(fault: &Failed) -> String {
    fault.message().unwrap_or("it failed").to_owned()
}

/// Splits a command into words; `'…'` is one word, or the part of a word after `=`.
fn words(command: &str) -> Result<Vec<String>, Failed> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in command.chars() {
        match c {
            '\'' if quoted || word.as_ref().is_none_or(|w| w.ends_with('=')) => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    if quoted {
        return Err(format!("a quote without an end in '{command}'").into());
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_errors_of_equal_results_are_hidden() {
        let text = "result 0: equal (largest error 1e-8 at [1], where 2e-7 is allowed)\nresult 1: different (largest error 1)\n";
        let left = "result 0: equal (but for rounding)\nresult 1: different (largest error 1)\n";
        assert_eq!(super::without_rounding(text), left);
    }

    #[test]
    fn quoted_words_may_contain_spaces() {
        let read = |text: &str| words(text).map_err(|fault| said(&fault));
        let wanted = ["shardc", "opt", "--p=a b{c=d e=f}", "", "a['x']"].map(str::to_owned);
        assert_eq!(read(" shardc  opt --p='a b{c=d e=f}' '' a['x']"), Ok(wanted.to_vec()));
        assert_eq!(read("shardc 'a"), Err("a quote without an end in 'shardc 'a'".to_owned()));
    }

    #[test]
    fn all_faults_of_a_suite_are_reported() {
        let folder = std::env::temp_dir().join(format!("shardc-lit-{}", std::process::id()));
        fs::create_dir_all(folder.join("inside")).expect("there is a folder for temporary files");
        let program = "func.func @main() {\n  return\n}\n";
        for (file, text) in [
            ("inside/a.mlir", format!("// RUN: not shardc opt %s\n{program}")),
            ("b.mlir", program.to_owned()),
            ("c.snap", String::new()),
        ] {
            fs::write(folder.join(file), text).expect("it can be written");
        }
        let faults = Suite::new(&folder).check().expect_err("all are wrong");
        fs::create_dir_all(folder.join("empty")).expect("it can be written");
        let empty = Suite::new(folder.join("empty")).check();
        assert!(empty.is_err_and(|faults| faults[0].contains("no program below")));
        fs::remove_dir_all(&folder).expect("it is ours");
        let parts =
            ["snapshots without a program: c.snap", "b.mlir: the first line is no '// RUN", "ended with exit code 0"];
        assert_eq!(faults.len(), 3, "{faults:?}");
        for (fault, part) in faults.iter().zip(parts) {
            assert!(fault.contains(part), "{fault}");
        }
        assert!(Suite::new("no/such/folder").check().is_err_and(|faults| faults[0].contains("can't read")));
    }
}
