//! The C interface. `include/shardc.h` documents each function for callers.
//!
//! C strings are copied once, at the border; all code behind it is safe. Panics don't cross the border.
#![allow(unsafe_code, reason = "a C interface gets pointers; each block says what its caller promises")]

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::LazyLock;

use shardc::{
    Compiler, Diagnostics, Frame, PrintOptions, Severity, Source, guarded, is_bytecode, program_text, render,
};

const GENERIC: u32 = 1;
const LOCATIONS: u32 = 2;
const CAUSES: u32 = 4;
const AXES: u32 = 8;
const BYTECODE: u32 = 16;

/// The result of a run of passes.
pub struct ShardcResult {
    /// The program, terminated by a zero byte.
    text: Option<Vec<u8>>,
    diagnostics: Vec<Diagnostic>,
}

/// A diagnostic that owns its strings.
struct Diagnostic {
    severity: i32,
    code: CString,
    message: CString,
    text: CString,
    place: (u32, u32),
    source: Option<(CString, u32, u32)>,
}

/// `ShardcDiagnostic` of the header.
#[repr(C)]
pub struct ShardcDiagnostic {
    severity: i32,
    code: *const c_char,
    message: *const c_char,
    text: *const c_char,
    line: u32,
    column: u32,
    source_file: *const c_char,
    source_line: u32,
    source_column: u32,
}

/// `ShardcPassInfo` of the header.
#[repr(C)]
pub struct ShardcPassInfo {
    name: *const c_char,
    description: *const c_char,
}

/// Returns the text up to the first zero byte. A valid program contains none.
fn c_string(text: impl Into<Vec<u8>>) -> CString {
    let mut bytes: Vec<u8> = text.into();
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    CString::new(bytes).unwrap_or_default()
}

/// Names and descriptions of all passes, then of all pipelines.
static PASSES: LazyLock<Vec<(CString, CString)>> = LazyLock::new(|| {
    let compiler = Compiler::standard();
    let passes = compiler.passes().passes().iter().map(|p| (c_string(p.name), c_string(p.doc)));
    let pipelines = compiler.passes().pipelines().iter().map(|p| (c_string(p.name), c_string(p.doc)));
    passes.chain(pipelines).collect()
});

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn shardc_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns the number of passes and pipelines.
#[unsafe(no_mangle)]
pub extern "C" fn shardc_pass_count() -> usize {
    PASSES.len()
}

/// Returns a pass or pipeline by number; past the end, its strings are null.
#[unsafe(no_mangle)]
pub extern "C" fn shardc_pass(number: usize) -> ShardcPassInfo {
    let (name, description) = match PASSES.get(number) {
        Some((name, description)) => (name.as_ptr(), description.as_ptr()),
        None => (ptr::null(), ptr::null()),
    };
    ShardcPassInfo { name, description }
}

/// Runs passes over a program.
///
/// # Safety
/// `text` has `length` bytes, or is null with a length of 0; `name` and `passes` end with a zero byte, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_run_passes(
    text: *const c_char,
    length: usize,
    name: *const c_char,
    passes: *const c_char,
    flags: u32,
) -> *mut ShardcResult {
    // SAFETY: these arguments have the same contract, which allows a null `target`.
    unsafe { shardc_run_passes_for(text, length, name, passes, flags, ptr::null()) }
}

/// Runs passes over a program, for a user-defined target.
///
/// # Safety
/// As [`shardc_run_passes`]; `target` ends with a zero byte, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_run_passes_for(
    text: *const c_char,
    length: usize,
    name: *const c_char,
    passes: *const c_char,
    flags: u32,
    target: *const c_char,
) -> *mut ShardcResult {
    let text = match text.is_null() {
        true => &[],
        // SAFETY: `text` has `length` bytes by this function's contract. They are copied before it returns.
        false => unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length) },
    };
    let string = |from: *const c_char, otherwise: &str| match from.is_null() {
        true => otherwise.to_owned(),
        // SAFETY: the string ends with a zero byte by this function's contract.
        false => unsafe { CStr::from_ptr(from) }.to_string_lossy().into_owned(),
    };
    let text = text.to_vec();
    let (name, passes) = (string(name, "<input>"), string(passes, "compile"));
    let target = (!target.is_null()).then(|| string(target, ""));
    let result = guarded(|| run(text, name, &passes, flags, target)).unwrap_or_else(|bug| {
        let list = Diagnostics { list: vec![*bug], dropped: 0 };
        ShardcResult::new(&Compiler::standard(), &Source::new("", ""), None, &list)
    });
    Box::into_raw(Box::new(result))
}

fn run(program: Vec<u8>, name: String, passes: &str, flags: u32, target: Option<String>) -> ShardcResult {
    let mut compiler = Compiler::standard();
    if let Some(target) = target {
        let file = Source::new("<target>", target);
        match compiler.clone().with_target_file(file.clone()).into_result() {
            Ok((with_target, _)) => compiler = with_target,
            Err(faults) => return ShardcResult::new(&compiler, &file, None, &faults),
        }
    }
    let source = if is_bytecode(&program) {
        let read = Source::of_bytecode(&name, &program);
        match read.value {
            Some(source) => source,
            None => return ShardcResult::new(&compiler, &Source::new(name, ""), None, &read.diagnostics),
        }
    } else {
        match program_text(&name, program) {
            Ok(text) => Source::new(name, text),
            Err(message) => return ShardcResult::failed("not-a-program", &message),
        }
    };
    if let Err(faults) = compiler.passes().parse(passes) {
        let source = Source::new("passes", passes);
        return ShardcResult::new(&compiler, &source, None, &Diagnostics::new(&source, &faults));
    }
    let outcome = compiler
        .parse_unverified(source.clone(), &mut Default::default())
        .and_then(|module| compiler.run_passes(module, passes));
    let print = PrintOptions {
        generic: flags & GENERIC != 0,
        locations: flags & LOCATIONS != 0,
        causes: flags & CAUSES != 0,
        group_axes: flags & AXES != 0,
        local_scope: false,
    };
    let text = outcome.value.map(|module| match flags & BYTECODE != 0 {
        true => compiler.bytecode(&module, print),
        false => compiler.print(&module, print).into_bytes(),
    });
    ShardcResult::new(&compiler, &source, text, &outcome.diagnostics)
}

impl ShardcResult {
    fn new(compiler: &Compiler, source: &Source, text: Option<Vec<u8>>, found: &Diagnostics) -> Self {
        let frames = compiler.frames(source, found);
        let diagnostic = |(d, frame): (&shardc::Diagnostic, Option<Frame>)| Diagnostic {
            severity: match d.severity {
                Severity::Error => 0,
                Severity::Warning => 1,
                _ => 2,
            },
            code: c_string(d.code),
            message: c_string([&[d.message.clone()][..], &d.notes].concat().join("; ")),
            text: c_string(render(source, [d], false)),
            place: d.place.as_ref().map_or((0, 0), |p| (p.line as u32, p.column as u32)),
            source: frame.map(|f| (c_string(f.file), f.line, f.column)),
        };
        let diagnostics = found.iter().zip(frames).map(diagnostic).collect();
        let ended = |mut text: Vec<u8>| {
            text.push(0);
            text
        };
        Self { text: text.map(ended), diagnostics }
    }

    fn failed(code: &str, message: &str) -> Self {
        let [code, message] = [code, message].map(c_string);
        let text = message.clone();
        let diagnostic = Diagnostic { severity: 0, code, message, text, place: (0, 0), source: None };
        Self { text: None, diagnostics: vec![diagnostic] }
    }
}

/// Returns the program, and stores its length without the zero byte in `length`.
///
/// # Safety
/// `result` is null, or comes from [`shardc_run_passes`] and isn't freed yet; `length` is null or may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_result_text(result: *const ShardcResult, length: *mut usize) -> *const c_char {
    // SAFETY: `result` is null or a live result by this function's contract.
    let text = unsafe { result.as_ref() }.and_then(|result| result.text.as_ref());
    if !length.is_null() {
        // SAFETY: `length` isn't null, so it may be written by this function's contract.
        unsafe { length.write(text.map_or(0, |text| text.len() - 1)) };
    }
    text.map_or(ptr::null(), |text| text.as_ptr().cast())
}

/// Returns the number of diagnostics.
///
/// # Safety
/// `result` is null, or comes from [`shardc_run_passes`] and isn't freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_result_diagnostic_count(result: *const ShardcResult) -> usize {
    // SAFETY: `result` is null or a live result by this function's contract.
    unsafe { result.as_ref() }.map_or(0, |result| result.diagnostics.len())
}

/// Returns a diagnostic by number; past the end, its strings are null.
///
/// # Safety
/// `result` is null, or comes from [`shardc_run_passes`] and isn't freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_result_diagnostic(result: *const ShardcResult, number: usize) -> ShardcDiagnostic {
    // SAFETY: `result` is null or a live result by this function's contract.
    let found = unsafe { result.as_ref() }.and_then(|result| result.diagnostics.get(number));
    let string = |s: Option<&CString>| s.map_or(ptr::null(), |s| s.as_ptr());
    let source = found.and_then(|d| d.source.as_ref());
    let place = found.map_or((0, 0), |d| d.place);
    ShardcDiagnostic {
        severity: found.map_or(0, |d| d.severity),
        code: string(found.map(|d| &d.code)),
        message: string(found.map(|d| &d.message)),
        text: string(found.map(|d| &d.text)),
        line: place.0,
        column: place.1,
        source_file: string(source.map(|s| &s.0)),
        source_line: source.map_or(0, |s| s.1),
        source_column: source.map_or(0, |s| s.2),
    }
}

/// Frees a result.
///
/// # Safety
/// `result` is null or comes from [`shardc_run_passes`], and isn't used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_free(result: *mut ShardcResult) {
    if !result.is_null() {
        // SAFETY: `result` isn't null, so `shardc_run_passes` created it from a box. It isn't used after this, by this
        // function's contract.
        drop(unsafe { Box::from_raw(result) });
    }
}
