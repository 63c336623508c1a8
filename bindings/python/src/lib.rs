//! The native half of the Python package `shardc`: texts in, texts and diagnostics out.
//!
//! Python's lock is released while the compiler works, which does so on a deep stack; a panic becomes a diagnostic.

use std::panic::catch_unwind;

use pyo3::prelude::*;
use shardc::{CompileOptions, Compiler, Diagnostics, Frame, Io, Outcome, PrintOptions, Source, on_deep_stack, render};

/// What is wrong with a program.
#[pyclass(frozen, get_all, module = "shardc")]
struct Diagnostic {
    /// `error`, `warning` or `remark`.
    severity: &'static str,
    /// The name of the kind of fault, which `shardc help codes` explains.
    code: &'static str,
    /// What was expected and found.
    message: String,
    /// How to mend it.
    notes: Vec<String>,
    /// Line and column in the MLIR text, from 1.
    place: Option<(usize, usize)>,
    /// The line of the user's program: file, line and column, from 1.
    source: Option<(String, u32, u32)>,
    /// All of it for people, with the line of MLIR.
    text: String,
}

#[pymethods]
impl Diagnostic {
    fn __repr__(&self) -> String {
        format!("<{} {}: {}>", self.severity, self.code, self.message)
    }
}

/// Every diagnostic, with the lines of Python that `source` says its ops came from.
fn told(compiler: &Compiler, source: &Source, found: &Diagnostics) -> Vec<Diagnostic> {
    let frames: Vec<Option<Frame>> = compiler.frames(source, found);
    let tell = |(d, frame): (&shardc::Diagnostic, Option<Frame>)| Diagnostic {
        severity: d.severity.text(),
        code: d.code,
        message: d.message.clone(),
        notes: d.notes.clone(),
        place: d.place.as_ref().map(|p| (p.line, p.column)),
        source: frame.map(|f| (f.file, f.line, f.column)),
        text: render(source, [d], false),
    };
    found.iter().zip(frames).map(tell).collect()
}

/// A diagnostic of ours about ourselves.
fn bug(panic: &(dyn std::any::Any + Send)) -> Diagnostic {
    let why = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    let message = format!("internal error: {}", why.unwrap_or("of an unknown kind"));
    let note = "this is a bug in shardc, not in your program; please report it with the program".to_owned();
    let text = format!("bug: {message}\n  {note}\n");
    Diagnostic { severity: "error", code: "bug", message, notes: vec![note], place: None, source: None, text }
}

/// The text of a program in MLIR bytecode, with the lines of Python its ops came from; `None` if it can't be read, and
/// the diagnostics.
#[pyfunction]
fn text_of_bytecode(py: Python<'_>, bytecode: Vec<u8>, name: &str) -> (Option<String>, Vec<Diagnostic>) {
    let work = || {
        let Outcome { value, diagnostics } = Source::of_bytecode(name, &bytecode);
        (value.map(|source| source.text), told(&Compiler::standard(), &Source::new(name, ""), &diagnostics))
    };
    py.detach(|| catch_unwind(|| on_deep_stack(work))).unwrap_or_else(|panic| (None, vec![bug(&*panic)]))
}

/// Whether these bytes are a program of MLIR bytecode.
#[pyfunction]
fn is_bytecode(bytes: &[u8]) -> bool {
    shardc::is_bytecode(bytes)
}

/// Runs `text` through the pipeline `pipeline` and prints it: the text, `None` if there were errors, and all diagnostics.
#[pyfunction]
#[pyo3(signature = (text, *, name, pipeline, target=None, memory=None, plan="full", locations=false, causes=false))]
fn compile(
    py: Python<'_>,
    text: String,
    name: String,
    pipeline: &str,
    target: Option<String>,
    memory: Option<u64>,
    plan: &str,
    locations: bool,
    causes: bool,
) -> (Option<String>, Vec<Diagnostic>) {
    let search = if plan == "greedy" { shardc::Search::Greedy } else { shardc::Search::Full };
    let options = CompileOptions { search, target, memory, ..CompileOptions::default() };
    let print = PrintOptions { locations, causes, ..PrintOptions::default() };
    let work = || {
        let (compiler, source) = (Compiler::standard(), Source::new(name, text));
        let outcome = compiler
            .parse_unverified(source.clone(), &mut Default::default())
            .and_then(|module| compiler.compile(module, pipeline, &options));
        let text = outcome.value.map(|module| compiler.print(&module, print));
        (text, told(&compiler, &source, &outcome.diagnostics))
    };
    py.detach(|| catch_unwind(|| on_deep_stack(work))).unwrap_or_else(|panic| (None, vec![bug(&*panic)]))
}

/// Runs the program `shardc` with these arguments on a standard input: exit code, output and error stream.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>, input: String) -> (u8, String, String) {
    let work = || {
        let (mut stdin, mut out, mut err) = (input.as_bytes(), Vec::new(), Vec::new());
        let io = Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
        let code = shardc::run(&arguments, io);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (code, text(out), text(err))
    };
    py.detach(|| catch_unwind(|| on_deep_stack(work))).unwrap_or_else(|panic| (101, String::new(), bug(&*panic).text))
}

/// The bytes that a text like `8GiB` says.
#[pyfunction]
fn parse_bytes(text: &str) -> Option<u64> {
    shardc::parse_bytes(text)
}

/// What is wrong with the name of a target, if anything is.
#[pyfunction]
fn target_fault(name: &str) -> Option<String> {
    Compiler::standard().target(name).err().map(|e| e.to_string())
}

/// `shardc._native`
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Diagnostic>()?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(is_bytecode, module)?)?;
    module.add_function(wrap_pyfunction!(text_of_bytecode, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(target_fault, module)?)
}
