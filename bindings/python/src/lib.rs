//! The native half of the Python package `shardc`: it takes texts and returns texts and diagnostics.
//!
//! The compiler works on a separate thread with a deep stack. Meanwhile the caller's thread releases Python's lock and
//! waits for the result or for a signal such as Ctrl-C. A panic becomes a diagnostic.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use shardc::interrupt::{self, Flag};
use shardc::{
    CompileOptions, Compiler, Diagnostics, Frame, Io, Module, Outcome, PrintOptions, Source, Stage, Watch, guarded,
    render,
};

/// The interval at which a waiting thread checks for signals.
const PERIOD: Duration = Duration::from_millis(20);

/// Returns the result of `work`, or a Python exception that a signal's handler raised meanwhile. In the latter case the
/// work ends soon afterwards on its own, and its result is dropped.
fn waited<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<Result<T, Vec<Diagnostic>>> {
    let (flag, (result, received)) = (Flag::default(), channel());
    let within = Some(flag.clone());
    let worker = move || {
        let _ = result.send(guarded(|| interrupt::with(within, work)).map_err(|bug| converted_bug(*bug)));
    };
    std::thread::Builder::new().spawn(worker)?;
    py.detach(move || {
        loop {
            match received.recv_timeout(PERIOD) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => {
                    let signals = Python::attach(|py| py.check_signals());
                    signals.inspect_err(|_| flag.store(true, Ordering::Relaxed))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(Err(Vec::new())),
            }
        }
    })
}

/// A fault of a program.
#[pyclass(frozen, get_all, module = "shardc")]
#[derive(PartialEq, Eq, Hash)]
struct Diagnostic {
    /// `error`, `warning` or `remark`.
    severity: String,
    /// The name of the kind of fault, explained by `shardc help codes`.
    code: String,
    /// The message: what was expected and what was found.
    message: String,
    /// Suggestions for a fix.
    notes: Vec<String>,
    /// Line and column in the MLIR text, from 1.
    place: Option<(usize, usize)>,
    /// The line of the user's program: file, line and column, from 1.
    source: Option<(String, u32, u32)>,
    /// The full text for people, with the line of MLIR.
    text: String,
}

#[pymethods]
impl Diagnostic {
    /// Creates a diagnostic from the fields of another, as pickle does.
    #[new]
    #[pyo3(signature = (severity, code, message, notes, place, source, text))]
    fn new(
        severity: String,
        code: String,
        message: String,
        notes: Vec<String>,
        place: Option<(usize, usize)>,
        source: Option<(String, u32, u32)>,
        text: String,
    ) -> Self {
        Self { severity, code, message, notes, place, source, text }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let d = this.get();
        let (severity, code, message, notes) = (&d.severity, &d.code, &d.message, &d.notes);
        let fields = (severity, code, message, notes, d.place, &d.source, &d.text).into_pyobject(this.py())?;
        Ok((this.get_type(), fields))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self == other
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<{} {}: {}>", self.severity, self.code, self.message)
    }
}

/// A summary of a plan for one line of a log.
#[pyclass(frozen, get_all, module = "shardc")]
struct Summary {
    /// The kinds of collectives in the per-device program with their counts, in alphabetical order.
    collectives: Vec<(&'static str, usize)>,
    /// The modelled seconds of one step on the target.
    step_s: f64,
    /// The target's name.
    target: String,
}

#[pymethods]
impl Summary {
    fn __repr__(&self) -> String {
        format!("<{} collectives, {} s on {}>", self.collectives.len(), self.step_s, self.target)
    }
}

/// Returns the summary of a per-device program; `None` if the target can't model it.
fn summary(compiler: &Compiler, device: &Module, options: &CompileOptions) -> Option<Summary> {
    let cost = compiler.estimate(device, options).value?;
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for collective in &cost.collectives {
        *counts.entry(collective.kind).or_default() += 1;
    }
    Some(Summary { collectives: counts.into_iter().collect(), step_s: cost.step_s, target: cost.target })
}

/// Runs a pipeline on a program; with `summed`, also summarizes the per-device program.
fn planned(
    compiler: &Compiler,
    module: Module,
    pipeline: &str,
    options: &CompileOptions,
    summed: bool,
) -> (Outcome<Module>, Option<Summary>) {
    let steps = match compiler.steps(pipeline, options) {
        Ok(steps) if summed => steps,
        _ => return (compiler.compile(module, pipeline, options), None),
    };
    let (mut sum, mut watch) = (None, Watch::default());
    let outcome = compiler.run_steps(module, &steps.before(Stage::Exported), &mut watch).and_then(|device| {
        sum = summary(compiler, &device, options);
        compiler.run_steps(device, &steps.from(Stage::Exported), &mut watch)
    });
    (outcome, sum)
}

/// Converts every diagnostic, with the Python lines of its op in `source`.
fn converted(compiler: &Compiler, source: &Source, found: &Diagnostics) -> Vec<Diagnostic> {
    let frames: Vec<Option<Frame>> = compiler.frames(source, found);
    let convert = |(d, frame): (&shardc::Diagnostic, Option<Frame>)| Diagnostic {
        severity: d.severity.text().to_owned(),
        code: d.code.to_owned(),
        message: d.message.clone(),
        notes: d.notes.clone(),
        place: d.place.as_ref().map(|p| (p.line, p.column)),
        source: frame.map(|f| (f.file, f.line, f.column)),
        text: render(source, [d], false),
    };
    found.iter().zip(frames).map(convert).collect()
}

/// Converts a diagnostic about a bug in shardc.
fn converted_bug(bug: shardc::Diagnostic) -> Vec<Diagnostic> {
    converted(&Compiler::standard(), &Source::new("", ""), &Diagnostics { list: vec![bug], dropped: 0 })
}

/// A program in the form that Python passes.
#[derive(FromPyObject)]
enum Program {
    Text(String),
    Bytecode(Vec<u8>),
}

impl Program {
    /// Returns the source text, with the Python lines of the ops of bytecode; or the faults of the bytecode.
    fn source(self, name: String) -> Result<Source, Vec<Diagnostic>> {
        match self {
            Program::Text(text) => Ok(Source::new(name, text)),
            Program::Bytecode(bytes) => Source::of_bytecode(&name, &bytes)
                .into_result()
                .map_err(|faults| converted(&Compiler::standard(), &Source::new(name, ""), &faults)),
        }
    }
}

/// Returns the compiler with the target that the text of the file `name` describes, and the target's name; or the
/// faults of that text.
fn with_target(name: &str, described: &str) -> Result<(Compiler, String), Vec<Diagnostic>> {
    let file = Source::new(name, described);
    let read = Compiler::standard().with_target_file(file.clone());
    read.into_result().map_err(|faults| converted(&Compiler::standard(), &file, &faults))
}

/// Returns the text of a program in MLIR bytecode, with the Python lines of its ops, and the diagnostics. The text is
/// `None` if the bytecode can't be read.
#[pyfunction]
fn text_of_bytecode(py: Python<'_>, bytecode: Vec<u8>, name: String) -> PyResult<(Option<String>, Vec<Diagnostic>)> {
    Ok(match waited(py, || Program::Bytecode(bytecode).source(name))? {
        Ok(Ok(source)) => (Some(source.text), Vec::new()),
        Ok(Err(faults)) | Err(faults) => (None, faults),
    })
}

/// Returns whether these bytes are a program in MLIR bytecode.
#[pyfunction]
fn is_bytecode(bytes: &[u8]) -> bool {
    shardc::is_bytecode(bytes)
}

/// The resulting program, all diagnostics, and the summary.
type Compiled = (Option<Py<PyAny>>, Vec<Diagnostic>, Option<Summary>);

/// Runs a program through the pipeline `pipeline` for the target `target`. With `described`, `target` is the name of a
/// file and `described` its contents. Returns the result in the form of the program (text or bytecode; `None` if there
/// were errors), all diagnostics and, with `summary`, the summary.
#[pyfunction]
#[pyo3(signature = (program, *, name, pipeline, target=None, described=None, memory=None, plan="full", locations=false, causes=false,
    summary=false))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of the Python function")]
fn compile(
    py: Python<'_>,
    program: Program,
    name: String,
    pipeline: String,
    target: Option<String>,
    described: Option<String>,
    memory: Option<u64>,
    plan: &str,
    locations: bool,
    causes: bool,
    summary: bool,
) -> PyResult<Compiled> {
    let search = if plan == "greedy" { shardc::Search::Greedy } else { shardc::Search::Full };
    let print = PrintOptions { locations, causes, ..PrintOptions::default() };
    let work = move || {
        let (mut compiler, mut target) = (Compiler::standard(), target);
        if let (Some(file), Some(described)) = (&target, &described) {
            match with_target(file, described) {
                Ok((with_target, name)) => (compiler, target) = (with_target, Some(name)),
                Err(faults) => return (None, faults, None),
            }
        }
        let is_text = matches!(program, Program::Text(_));
        let source = match program.source(name) {
            Ok(source) => source,
            Err(faults) => return (None, faults, None),
        };
        let options = CompileOptions { search, target, memory, ..CompileOptions::default() };
        let mut sum = None;
        let outcome = compiler.parse_unverified(source.clone(), &mut Watch::default()).and_then(|module| {
            let outcome;
            (outcome, sum) = planned(&compiler, module, &pipeline, &options, summary);
            outcome
        });
        let result = outcome.value.map(|module| match is_text {
            true => Program::Text(compiler.print(&module, print)),
            false => Program::Bytecode(compiler.bytecode(&module, print)),
        });
        (result, converted(&compiler, &source, &outcome.diagnostics), sum)
    };
    let (result, found, sum) = waited(py, work)?.unwrap_or_else(|bug| (None, bug, None));
    let result = match result {
        Some(Program::Text(text)) => Some(text.into_pyobject(py)?.into_any().unbind()),
        Some(Program::Bytecode(bytes)) => Some(PyBytes::new(py, &bytes).into_any().unbind()),
        None => None,
    };
    Ok((result, found, sum))
}

/// Runs the program `shardc` with these arguments and this standard input. Returns the exit code, the output and the
/// error stream.
#[pyfunction]
fn run(py: Python<'_>, arguments: Vec<String>, input: String) -> PyResult<(u8, String, String)> {
    let work = move || {
        let (mut stdin, mut out, mut err) = (input.as_bytes(), Vec::new(), Vec::new());
        let io = Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
        let code = shardc::run(&arguments, io);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (code, text(out), text(err))
    };
    Ok(waited(py, work)?.unwrap_or_else(|bug| (101, String::new(), bug.into_iter().map(|d| d.text).collect())))
}

/// Returns the number of bytes in a text like `8GiB`.
#[pyfunction]
fn parse_bytes(text: &str) -> Option<u64> {
    shardc::parse_bytes(text)
}

/// Returns the fault of a target's name, or of the contents `described` of the file with that name; `None` if it is
/// valid.
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
    module.add_class::<Summary>()?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(is_bytecode, module)?)?;
    module.add_function(wrap_pyfunction!(text_of_bytecode, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(parse_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(target_fault, module)?)
}
