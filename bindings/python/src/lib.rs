//! The native half of the Python package `shardc`: texts in, texts and diagnostics out.
//!
//! Python's lock is released while the compiler works, which does so on a deep stack; a panic becomes a diagnostic.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use shardc::{CompileOptions, Compiler, Diagnostics, Frame, Io, Outcome, PrintOptions, Source, guarded, render};

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
fn told_bug(bug: shardc::Diagnostic) -> Vec<Diagnostic> {
    told(&Compiler::standard(), &Source::new("", ""), &Diagnostics { list: vec![bug], dropped: 0 })
}

/// A program as Python hands it over.
#[derive(FromPyObject)]
enum Program {
    Text(String),
    Bytecode(Vec<u8>),
}

/// The compiler with the target that the text of the file `name` describes, and the target's name; what is wrong with the text
/// otherwise.
fn with_target(name: &str, described: &str) -> Result<(Compiler, String), Vec<Diagnostic>> {
    let file = Source::new(name, described);
    let read = Compiler::standard().with_target_file(file.clone());
    read.into_result().map_err(|faults| told(&Compiler::standard(), &file, &faults))
}

/// The text of a program in MLIR bytecode, with the lines of Python its ops came from; `None` if it can't be read, and
/// the diagnostics.
#[pyfunction]
fn text_of_bytecode(py: Python<'_>, bytecode: Vec<u8>, name: &str) -> (Option<String>, Vec<Diagnostic>) {
    let work = || {
        let Outcome { value, diagnostics } = Source::of_bytecode(name, &bytecode);
        (value.map(|source| source.text), told(&Compiler::standard(), &Source::new(name, ""), &diagnostics))
    };
    py.detach(|| guarded(work)).unwrap_or_else(|bug| (None, told_bug(*bug)))
}

/// Whether these bytes are a program of MLIR bytecode.
#[pyfunction]
fn is_bytecode(bytes: &[u8]) -> bool {
    shardc::is_bytecode(bytes)
}

/// Runs a program through the pipeline `pipeline`, for the target `target`, which is a file's name if `described` is what it says:
/// the result in the form of the program, text or bytecode, `None` if there were errors, and all diagnostics.
#[pyfunction]
#[pyo3(signature = (program, *, name, pipeline, target=None, described=None, memory=None, plan="full", locations=false, causes=false))]
fn compile(
    py: Python<'_>,
    program: Program,
    name: String,
    pipeline: &str,
    target: Option<String>,
    described: Option<String>,
    memory: Option<u64>,
    plan: &str,
    locations: bool,
    causes: bool,
) -> PyResult<(Option<Py<PyAny>>, Vec<Diagnostic>)> {
    let search = if plan == "greedy" { shardc::Search::Greedy } else { shardc::Search::Full };
    let print = PrintOptions { locations, causes, ..PrintOptions::default() };
    let work = || {
        let (mut compiler, mut target) = (Compiler::standard(), target);
        if let (Some(file), Some(described)) = (&target, &described) {
            match with_target(file, described) {
                Ok((with_target, name)) => (compiler, target) = (with_target, Some(name)),
                Err(faults) => return (None, faults),
            }
        }
        let is_text = matches!(program, Program::Text(_));
        let source = match program {
            Program::Text(text) => Source::new(name, text),
            Program::Bytecode(bytes) => match Source::of_bytecode(&name, &bytes) {
                Outcome { value: Some(source), .. } => source,
                Outcome { diagnostics, .. } => return (None, told(&compiler, &Source::new(name, ""), &diagnostics)),
            },
        };
        let options = CompileOptions { search, target, memory, ..CompileOptions::default() };
        let outcome = compiler
            .parse_unverified(source.clone(), &mut Default::default())
            .and_then(|module| compiler.compile(module, pipeline, &options));
        let result = outcome.value.map(|module| match is_text {
            true => Program::Text(compiler.print(&module, print)),
            false => Program::Bytecode(compiler.bytecode(&module, print)),
        });
        (result, told(&compiler, &source, &outcome.diagnostics))
    };
    let (result, found) = py.detach(|| guarded(work)).unwrap_or_else(|bug| (None, told_bug(*bug)));
    let result = match result {
        Some(Program::Text(text)) => Some(text.into_pyobject(py)?.into_any().unbind()),
        Some(Program::Bytecode(bytes)) => Some(PyBytes::new(py, &bytes).into_any().unbind()),
        None => None,
    };
    Ok((result, found))
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
    py.detach(|| guarded(work)).unwrap_or_else(|bug| (101, String::new(), bug.to_string()))
}

/// The bytes that a text like `8GiB` says.
#[pyfunction]
fn parse_bytes(text: &str) -> Option<u64> {
    shardc::parse_bytes(text)
}

/// What is wrong with the name of a target, or with what the file of that name says of one.
#[pyfunction]
#[pyo3(signature = (name, described=None))]
fn target_fault(name: &str, described: Option<&str>) -> Option<String> {
    match described {
        Some(described) => {
            with_target(name, described).err().map(|faults| faults.into_iter().map(|d| d.text).collect())
        }
        None => Compiler::standard().target(name).err().map(|e| e.to_string()),
    }
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
