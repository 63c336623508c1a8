//! Lowers MLIR text to a module of the LLVM dialect with one entry per kernel.
//!
//! A kernel is a public `func.func` without results whose parameters are memrefs of static shape (contiguous,
//! row-major), `i64` or `index`. Each gets an entry `NAME.entry(pointers, scalars)` that loads the memrefs' addresses
//! from one array and the scalars from another, each in order of appearance, and calls the kernel. Everything but the
//! entries is internal, so LLVM keeps one copy of each body.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{StringAttribute, TypeAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, Module, RegionLike, Type};
use melior::pass::PassManager;
use melior::utility::{
    parse_pass_pipeline, register_all_dialects, register_all_llvm_translations, register_all_passes,
};

use super::math;

/// From structured ops and memrefs to the LLVM dialect. `ub` and `index` ops arise on the way. `arith-expand` is left
/// out: it expands `maximumf`, and LLVM then no longer recognizes a reduction.
const PIPELINE: &str = "builtin.module(\
    convert-linalg-to-loops,lower-affine,convert-vector-to-scf,expand-strided-metadata,lower-affine,\
    convert-complex-to-standard,convert-scf-to-cf,\
    convert-vector-to-llvm,convert-math-to-llvm,convert-math-to-libm,convert-complex-to-llvm,convert-index-to-llvm,\
    finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},\
    convert-arith-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts)";

/// A kernel's name and parameters.
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
}

/// How a kernel takes an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// The address of a buffer.
    Pointer,
    /// A 64-bit integer.
    Scalar,
}

impl Signature {
    /// Number of parameters of a kind.
    pub(super) fn count(&self, kind: Parameter) -> usize {
        self.parameters.iter().filter(|&&parameter| parameter == kind).count()
    }
}

/// A context with every dialect and translation registered. Dialects are loaded when they are first used.
pub(super) fn context() -> Context {
    register_all_passes();
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    register_all_llvm_translations(&context);
    context
}

/// The name under which the entry of a kernel is found.
pub(super) fn entry_name(kernel: &str) -> String {
    format!("{kernel}.entry")
}

/// Collects MLIR's diagnostics while `run` works; they are the error when it returns `None`.
pub(super) fn with_diagnostics<T>(context: &Context, run: impl FnOnce() -> Option<T>) -> Result<T, String> {
    let messages = Rc::new(RefCell::new(String::new()));
    let sink = Rc::clone(&messages);
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        append_diagnostic(&mut sink.borrow_mut(), &diagnostic);
        true
    });
    let result = run();
    context.detach_diagnostic_handler(handler);
    result.ok_or_else(|| {
        let text = messages.take();
        if text.is_empty() { "MLIR failed without a message".to_string() } else { text }
    })
}

fn append_diagnostic(out: &mut String, diagnostic: &Diagnostic<'_>) {
    let severity = match diagnostic.severity() {
        DiagnosticSeverity::Error => "error",
        DiagnosticSeverity::Warning => "warning",
        DiagnosticSeverity::Note => "note",
        DiagnosticSeverity::Remark => "remark",
    };
    let _ = writeln!(out, "{}: {severity}: {diagnostic}", diagnostic.location());
    for index in 0..diagnostic.note_count() {
        if let Ok(note) = diagnostic.note(index) {
            append_diagnostic(out, &note);
        }
    }
}

/// The passes that lower, to be made once for a context: that costs as much as lowering a small kernel.
pub(super) fn passes(context: &Context) -> PassManager<'_> {
    let manager = PassManager::new(context);
    // Each pass leaves valid IR; verifying once, at translation, is enough.
    manager.enable_verifier(false);
    parse_pass_pipeline(manager.as_operation_pass_manager(), PIPELINE).expect("the pipeline is a constant");
    manager
}

/// Parses `text` and lowers it with the [`passes`] of its context. Errors are MLIR's diagnostics, or name the function that is not a kernel.
pub(super) fn lower<'c>(
    context: &'c Context,
    passes: &PassManager<'c>,
    text: &str,
    wide_vectors: bool,
) -> Result<(Module<'c>, Vec<Signature>), String> {
    if text.contains('\0') {
        return Err("the text contains a NUL byte".to_string());
    }
    let mut module = with_diagnostics(context, || Module::parse(context, text))?;
    let signatures = signatures(&module)?;
    math::expand(context, &module)?;
    with_diagnostics(context, || passes.run(&mut module).ok())?;
    set_attributes(context, &module, wide_vectors);
    append_entries(context, &module, &signatures)?;
    Ok((module, signatures))
}

/// The kernels of a module: its public functions with a body.
fn signatures(module: &Module<'_>) -> Result<Vec<Signature>, String> {
    let mut signatures = Vec::new();
    let mut next = module.body().first_operation();
    while let Some(operation) = next {
        next = operation.next_in_block();
        let is_private = operation
            .attribute("sym_visibility")
            .and_then(StringAttribute::try_from)
            .is_ok_and(|visibility| visibility.value() != "public");
        if operation.name().as_string_ref().as_str() != Ok("func.func") || is_private || !has_body(&operation) {
            continue;
        }
        let name = operation
            .attribute("sym_name")
            .and_then(StringAttribute::try_from)
            .map_err(|error| error.to_string())?
            .value()
            .to_string();
        let parameters = operation
            .attribute("function_type")
            .and_then(TypeAttribute::try_from)
            .and_then(|attribute| FunctionType::try_from(attribute.value()))
            .map_err(|error| error.to_string())
            .and_then(parameters)
            .map_err(|error| format!("kernel @{name}: {error}"))?;
        signatures.push(Signature { name, parameters });
    }
    Ok(signatures)
}

fn parameters(ty: FunctionType<'_>) -> Result<Vec<Parameter>, String> {
    if ty.result_count() != 0 {
        return Err("a kernel returns nothing; results are written to memrefs".to_string());
    }
    (0..ty.input_count())
        .map(|index| {
            let input = ty.input(index).map_err(|error| error.to_string())?;
            parameter(input).ok_or_else(|| format!("parameter {index} is a {input}, expected a memref, i64 or index"))
        })
        .collect()
}

fn parameter(ty: Type<'_>) -> Option<Parameter> {
    use melior::ir::r#type::TypeLike;
    if ty.is_mem_ref() || ty.to_string() == "!llvm.ptr" {
        Some(Parameter::Pointer)
    } else if ty.is_index() || ty.to_string() == "i64" {
        Some(Parameter::Scalar)
    } else {
        None
    }
}

/// Gives every function with a body internal linkage and the attributes its kind needs.
fn set_attributes<'c>(context: &'c Context, module: &Module<'c>, wide_vectors: bool) {
    let internal = Attribute::parse(context, "#llvm.linkage<internal>").expect("a constant of the llvm dialect");
    // By default, LLVM uses only half of AVX-512's width.
    let wide = Attribute::parse(context, r#"[["prefer-vector-width", "512"]]"#).expect("a constant attribute");
    let mut next = module.body().first_operation_mut();
    while let Some(mut operation) = next {
        next = operation.next_in_block_mut();
        if operation.name().as_string_ref().as_str() != Ok("llvm.func") || !has_body(&operation) {
            continue;
        }
        operation.set_attribute("linkage", internal);
        if wide_vectors {
            operation.set_attribute("passthrough", wide);
        }
        let name = operation.attribute("sym_name").and_then(StringAttribute::try_from);
        if name.is_ok_and(|name| name.value().starts_with(math::PREFIX)) {
            let how = if operation.has_attribute(math::CALLED) { "no_inline" } else { "always_inline" };
            operation.set_attribute(how, Attribute::unit(context));
        }
    }
}

fn has_body<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> bool {
    operation.region(0).is_ok_and(|region| region.first_block().is_some())
}

/// Adds the entries, the only functions visible from outside.
fn append_entries<'c>(context: &'c Context, module: &Module<'c>, signatures: &[Signature]) -> Result<(), String> {
    let mut text = String::new();
    for signature in signatures {
        write_entry(&mut text, signature);
    }
    // The callees are declared for the parser; the declarations are dropped when the entries are moved.
    let entries = with_diagnostics(context, || Module::parse(context, &text))?;
    let mut next = entries.body().first_operation_mut();
    while let Some(mut operation) = next {
        next = operation.next_in_block_mut();
        if let (true, Some(first)) = (has_body(&operation), module.body().first_operation()) {
            operation.move_before(first);
        }
    }
    Ok(())
}

fn write_entry(text: &mut String, signature: &Signature) {
    let name = quoted(&signature.name);
    let types: Vec<&str> = signature
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Pointer => "!llvm.ptr",
            Parameter::Scalar => "i64",
        })
        .collect();
    let types = types.join(", ");
    let _ = writeln!(text, "llvm.func @{name}({types})");
    let entry = quoted(&entry_name(&signature.name));
    let _ = writeln!(text, "llvm.func @{entry}(%pointers: !llvm.ptr, %scalars: !llvm.ptr) {{");
    let (mut pointers, mut scalars) = (0, 0);
    let mut arguments = Vec::new();
    for (index, parameter) in signature.parameters.iter().enumerate() {
        let (array, position, ty) = match parameter {
            Parameter::Pointer => ("%pointers", &mut pointers, "!llvm.ptr"),
            Parameter::Scalar => ("%scalars", &mut scalars, "i64"),
        };
        let _ =
            writeln!(text, "  %slot{index} = llvm.getelementptr {array}[{position}] : (!llvm.ptr) -> !llvm.ptr, {ty}");
        let _ = writeln!(text, "  %value{index} = llvm.load %slot{index} : !llvm.ptr -> {ty}");
        arguments.push(format!("%value{index}"));
        *position += 1;
    }
    let _ = writeln!(text, "  llvm.call @{name}({}) : ({types}) -> ()\n  llvm.return\n}}", arguments.join(", "));
}

/// A symbol name, quoted as in MLIR.
fn quoted(name: &str) -> String {
    let mut out = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', byte as char]),
            0x20..=0x7e => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:02X}");
            }
        }
    }
    out.push('"');
    out
}
