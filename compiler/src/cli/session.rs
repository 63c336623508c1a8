//! One run of the program: its streams, its reports so far, and its end.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use dialect::ir::Program;
use dialect::ops::func;
use serde::Serialize;
use serde_json::Value;

use super::json::Json;
use super::lines::lines;
use super::progress;
use super::render::render;
use super::{BUG, FAILED, OK, USAGE, json};
use crate::{
    CompileOptions, Compiler, Diagnostic, Diagnostics, Module, Outcome as Gave, Severity, Source, Step, Times, Unit,
    Watch, is_bytecode, program_text,
};

/// The streams of a run.
pub struct Io<'a> {
    /// The input, read for `-`.
    pub stdin: &'a mut (dyn Read + Send),
    /// The stream for results.
    pub out: &'a mut dyn Write,
    /// The stream for diagnostics and everything else that is not a result.
    pub err: &'a mut dyn Write,
    /// Whether `out` shows colors.
    pub out_color: bool,
    /// Whether `err` shows colors.
    pub err_color: bool,
}

/// The reason why a run ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The program has errors or a comparison failed; already reported.
    Said,
    /// The command line is invalid, for this reason.
    Usage(String),
    /// The command line is invalid; already reported.
    SaidUsage,
    /// A result can't be written, or there isn't enough memory, for this reason.
    System(String),
    /// A bug in shardc; already reported.
    Bug,
    /// The reader of the output closed it.
    Closed,
}

/// The result of a command.
pub(crate) type Outcome = Result<(), Failure>;

/// A run.
pub(crate) struct Session<'a> {
    /// The compiler that does the work.
    pub(crate) compiler: Arc<Compiler>,
    /// The streams.
    pub(crate) io: Io<'a>,
    /// Whether, and how, JSON is written to standard output.
    json: Option<Json>,
    /// The program text that becomes part of the JSON.
    program: Option<String>,
    /// Whether diagnostics are shown as one line each.
    lines: bool,
    /// The JSON document of the command, once it has one.
    document: Option<Value>,
    /// The diagnostics so far, for the JSON document.
    diagnosed: Vec<Diagnostic>,
    /// The description of this rank, if several processes run the program.
    speaker: Option<String>,
    /// Whether this rank prints no results, because another rank prints them.
    mute: bool,
}

impl<'a> Session<'a> {
    /// Starts a run without any reports.
    pub(crate) fn new(compiler: &Compiler, io: Io<'a>) -> Self {
        let compiler = Arc::new(compiler.clone());
        Self {
            compiler,
            io,
            json: None,
            program: None,
            lines: false,
            document: None,
            diagnosed: Vec::new(),
            speaker: None,
            mute: false,
        }
    }

    /// Ends the run: writes the JSON line and returns the exit code.
    pub(crate) fn finish(mut self, outcome: Outcome) -> u8 {
        let code = match &outcome {
            Ok(()) => OK,
            Err(Failure::Said | Failure::System(_)) => FAILED,
            Err(Failure::Usage(_) | Failure::SaidUsage) => USAGE,
            Err(Failure::Bug) => BUG,
            Err(Failure::Closed) => return OK,
        };
        if let Err(Failure::Usage(message) | Failure::System(message)) = &outcome
            && self.say(&format!("shardc: {message}\n")).is_err()
        {
            return code;
        }
        if self.json.take().is_some() && code != USAGE {
            let document = with_program(self.document.take(), self.program.take());
            let line = json::line(document, code == OK, &self.diagnosed);
            if let Err(Failure::System(message)) = self.print(&line)
                && code == OK
            {
                let _ = self.say(&format!("shardc: {message}\n"));
                return FAILED;
            }
        }
        code
    }

    /// Reports as this rank from now on: the first rank prints results, the others only errors.
    pub(crate) fn speak_as(&mut self, rank: usize, place: String) {
        self.mute = rank > 0;
        self.speaker = Some(place);
    }

    /// Returns the reason for an early end, in a sentence for other ranks.
    pub(crate) fn reason(&self, failure: &Failure) -> String {
        match failure {
            Failure::Usage(message) | Failure::System(message) => message.clone(),
            _ => {
                let errors = self.diagnosed.iter().filter(|d| d.severity == Severity::Error);
                errors
                    .map(|d| d.message.clone())
                    .next()
                    .unwrap_or_else(|| "this rank failed; see its diagnostics".to_owned())
            }
        }
    }

    /// Requests a line of JSON: alone, or at the end.
    pub(crate) fn want_json(&mut self, wanted: Option<Json>) {
        self.json = wanted;
    }

    /// Shows diagnostics in one line each from now on.
    pub(crate) fn say_lines(&mut self) {
        self.lines = true;
    }

    /// Sets the JSON document, without `schema`, which is added later.
    pub(crate) fn set_document(&mut self, document: &impl Serialize) {
        self.document = serde_json::to_value(document).ok();
    }

    /// Writes to the output.
    pub(crate) fn print(&mut self, text: &str) -> Outcome {
        self.print_bytes(text.as_bytes())
    }

    /// Writes bytes to the output, unless it is reserved for JSON.
    fn print_bytes(&mut self, bytes: &[u8]) -> Outcome {
        if self.mute || self.json == Some(Json::Only) { Ok(()) } else { write(self.io.out, bytes) }
    }

    /// Writes to the error stream.
    pub(crate) fn say(&mut self, text: &str) -> Outcome {
        match &self.speaker {
            Some(speaker) if !text.is_empty() => write(self.io.err, format!("{speaker}: {text}").as_bytes()),
            _ => write(self.io.err, text.as_bytes()),
        }
    }

    /// Writes a result: to the file if one is named, or else to the output.
    pub(crate) fn emit(&mut self, output: Option<&Path>, text: &str) -> Outcome {
        self.emit_bytes(output, text.as_bytes())
    }

    /// Writes a binary result.
    pub(crate) fn emit_bytes(&mut self, output: Option<&Path>, bytes: &[u8]) -> Outcome {
        match output {
            Some(path) if path != Path::new("-") => {
                let write = |file: &mut std::fs::File| file.write_all(bytes);
                runtime::files::replace(path, write).map_err(|e| match e.kind() {
                    ErrorKind::BrokenPipe => Failure::Closed,
                    _ => Failure::System(format!("can't write {}: {}", path.display(), reason(&e))),
                })
            }
            Some(_) if self.json == Some(Json::Only) => {
                let message = "-o - and --json both write to standard output: name a file with -o, or use --json=last";
                Err(Failure::Usage(message.to_owned()))
            }
            _ => self.print_bytes(bytes),
        }
    }

    /// Writes a program, which becomes part of the JSON if only JSON goes to standard output.
    pub(crate) fn emit_program(&mut self, output: Option<&Path>, program: &[u8]) -> Outcome {
        if self.json == Some(Json::Only) && output.is_none() && !program.is_empty() {
            self.program = Some(String::from_utf8_lossy(program).into_owned());
        }
        self.emit_bytes(output, program)
    }

    /// Refuses a binary result on standard output if a line of JSON would follow it.
    pub(crate) fn check_binary(&self, output: Option<&Path>) -> Outcome {
        if self.json.is_some() && output.is_none_or(|path| path == Path::new("-")) {
            let message = "--emit-bytecode and --json both write to standard output: name a file with -o";
            return Err(Failure::Usage(message.to_owned()));
        }
        Ok(())
    }

    /// Adds the target that a file describes to this run's compiler; returns its name.
    pub(crate) fn add_target(&mut self, path: &Path) -> Result<String, Failure> {
        let source = self.read_text("--target", path)?;
        let added = Compiler::clone(&self.compiler).with_target_file(source.clone());
        let (compiler, name) = self.take(&source, added).map_err(|_| Failure::SaidUsage)?;
        self.compiler = Arc::new(compiler);
        Ok(name)
    }

    /// Reads a text file that a flag names.
    pub(crate) fn read_text(&mut self, flag: &str, path: &Path) -> Result<Source, Failure> {
        let text = read_file(path)
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not a text in UTF-8")))
            .map_err(|e| Failure::Usage(format!("{flag}: can't read {}: {}", path.display(), reason(&e))))?;
        Ok(Source::new(path.display().to_string(), text))
    }

    /// Reads a program from a file, or from standard input for `-`.
    pub(crate) fn read(&mut self, input: &OsStr) -> Result<Source, Failure> {
        let (name, bytes) = if input == "-" {
            let read = read_stream(&mut self.io.stdin);
            let bytes = read.map_err(|e| Failure::Usage(format!("can't read standard input: {e}")))?;
            ("<stdin>".to_owned(), bytes)
        } else {
            let path = PathBuf::from(input);
            let bytes = read_file(&path);
            let bytes = bytes.map_err(|e| Failure::Usage(format!("can't read {}: {}", path.display(), reason(&e))))?;
            (path.display().to_string(), bytes)
        };
        if is_bytecode(&bytes) {
            let read = Source::of_bytecode(name.as_str(), &bytes);
            return self.take(&Source::new(name, ""), read);
        }
        let text = program_text(&name, bytes).map_err(Failure::Usage)?;
        Ok(Source::new(name, text))
    }

    /// Reads, verifies and compiles a program, and reports its diagnostics.
    pub(crate) fn compile(
        &mut self,
        source: Source,
        pipeline: &str,
        options: &CompileOptions,
    ) -> Result<Module, Failure> {
        let compiler = self.compiler.clone();
        let shown = source.clone();
        let Ok(steps) = compiler.steps(pipeline, options) else {
            // Report the faults of the options in addition to those of the text.
            let parsed = compiler.parse_unverified(source, &mut Watch::default());
            return self.take(&shown, parsed.and_then(|module| compiler.compile(module, pipeline, options)));
        };
        let compiled = progress::of_passes(&shown.name, &steps, |count| {
            let mut after = |_: &Program, _: &Step| count();
            let mut watch = Watch { after: Some(&mut after), ..Watch::default() };
            let parsed = compiler.parse_unverified(source, &mut watch);
            parsed.and_then(|module| compiler.run_steps(module, &steps, &mut watch))
        });
        self.take(&shown, compiled)
    }

    /// Returns whether the program is a per-device program already.
    pub(crate) fn is_device_program(&self, source: &Source) -> bool {
        if !source.text.contains(dialect::signature::GLOBAL_TYPE) {
            return false;
        }
        let parsed = self.compiler.parse_unverified(source.clone(), &mut Watch::default());
        parsed.value.is_some_and(|module| {
            let program = module.program();
            func::function(program, "main").is_some_and(|main| dialect::signature::is_stated(program, main))
        })
    }

    /// Returns the per-device program: compiles a global program, and keeps a per-device one.
    pub(crate) fn device_program(&mut self, source: Source, options: &CompileOptions) -> Result<Module, Failure> {
        if !self.is_device_program(&source) {
            return self.compile(source, "compile", options);
        }
        self.compile(source, "check-memory", options)
    }

    /// Reports the diagnostics of a step and returns its value.
    pub(crate) fn take<T>(&mut self, source: &Source, outcome: Gave<T>) -> Result<T, Failure> {
        self.report(source, &outcome.diagnostics)?;
        outcome.value.ok_or(Failure::Said)
    }

    /// Like [`Self::take`], but reports a diagnostic with this code as the fault of a command-line flag.
    pub(crate) fn take_flag<T>(
        &mut self,
        source: &Source,
        outcome: Gave<T>,
        code: &str,
        flag: &str,
    ) -> Result<T, Failure> {
        if let Some(fault) = outcome.diagnostics.iter().find(|d| d.code == code) {
            let notes: String = fault.notes.iter().map(|note| format!(": {note}")).collect();
            return Err(Failure::Usage(format!("{flag}: {}{notes}", fault.message)));
        }
        self.take(source, outcome)
    }

    /// Reports the times of all passes.
    pub(crate) fn say_times(&mut self, times: &Times) -> Outcome {
        let Times { parse, passes, statistics, verify } = times;
        let total: Duration = passes.iter().map(|t| t.1).sum::<Duration>() + *verify + *parse;
        let row = |name: &str, seconds: f64| {
            let share = 100.0 * seconds / total.as_secs_f64().max(1e-9);
            format!("{seconds:>10.6} s {share:>5.1} %  {name}\n")
        };
        let mut text = row("parse", parse.as_secs_f64());
        for (i, (name, time)) in passes.iter().enumerate() {
            text += &row(name, time.as_secs_f64());
            let parts = statistics.get(i).into_iter().flat_map(|s| &s.1).filter(|s| s.unit == Unit::Time);
            text.extend(parts.map(|part| row(&format!("  {}", part.name), part.value)));
        }
        text += &row("verify", verify.as_secs_f64());
        text += &row("total", total.as_secs_f64());
        self.say(&text)
    }

    /// Reports the statistics of all passes.
    pub(crate) fn say_statistics(&mut self, times: &Times) -> Outcome {
        let mut text = String::new();
        for (pass, statistics) in &times.statistics {
            let mut shown = statistics.iter().filter(|s| s.unit != Unit::Time).peekable();
            if shown.peek().is_some() {
                text += &format!("{pass}\n");
            }
            for s in shown {
                text += &match s.unit {
                    Unit::Modelled => format!("  {:>12.3} us {} - {}\n", s.value * 1e6, s.name, s.doc),
                    _ => format!("  {:>12}    {} - {}\n", s.value, s.name, s.doc),
                };
            }
        }
        self.say(&text)
    }

    /// Shows diagnostics; fails if any is an error.
    pub(crate) fn report(&mut self, source: &Source, diagnostics: &Diagnostics) -> Outcome {
        let shown = diagnostics.iter().filter(|d| !self.mute || d.severity == Severity::Error);
        let text = match self.lines {
            true => lines(source, shown),
            false => render(source, shown, self.io.err_color),
        };
        self.diagnosed.extend(diagnostics.iter().cloned());
        self.say(&text)?;
        if diagnostics.dropped > 0 {
            self.say(&format!("… and {} more\n", diagnostics.dropped))?;
        }
        if diagnostics.iter().any(|d| d.code == "bug" && d.severity == Severity::Error) {
            return Err(Failure::Bug);
        }
        if diagnostics.has_errors() { Err(Failure::Said) } else { Ok(()) }
    }
}

/// Adds the text of a program to a document.
fn with_program(document: Option<Value>, program: Option<String>) -> Option<Value> {
    let Some(program) = program else { return document };
    let mut document = document.unwrap_or_else(|| Value::Object(Default::default()));
    document.as_object_mut()?.insert("program".to_owned(), Value::String(program));
    Some(document)
}

fn write(stream: &mut dyn Write, bytes: &[u8]) -> Outcome {
    match stream.write_all(bytes).and_then(|()| stream.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Failure::Closed),
        Err(e) => Err(Failure::System(format!("can't write output: {e}"))),
    }
}

/// The maximum number of bytes read from a pipe or a device, which may be endless.
const MAX_STREAM: u64 = 1 << 30;

/// Reads the bytes of a file, a pipe or a device.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() && !about.is_dir() => std::fs::File::open(path).and_then(read_stream),
        _ => std::fs::read(path),
    }
}

/// Reads all bytes of a pipe or a device, up to the limit.
fn read_stream(stream: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if stream.take(MAX_STREAM + 1).read_to_end(&mut bytes)? as u64 > MAX_STREAM {
        let message = "it has more than 1 GiB, the limit for input that is not a regular file: is it endless?";
        return Err(std::io::Error::other(message));
    }
    Ok(bytes)
}

/// Formats an I/O error without the operating system's error number.
pub(crate) fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        ErrorKind::NotFound => "no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => e.to_string(),
    }
}
