//! Lowers MLIR text to a module of the LLVM dialect with one entry per kernel.
//!
//! A kernel is a public `func.func` without results whose parameters are memrefs of static shape (contiguous,
//! row-major), `i64` or `index`. Each gets an entry `NAME.entry(pointers, scalars)` that loads the memrefs' addresses
//! from one array and the scalars from another, each in order of appearance, and calls the kernel. Everything but the
//! entries is internal, so LLVM keeps one copy of each body.

use std::cell::{OnceCell, RefCell};
use std::fmt::Write as _;
use std::rc::Rc;

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};
use melior::ir::attribute::{StringAttribute, TypeAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationMutLike};
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, BlockRef, Module, RegionLike, Type};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;

use super::math;

/// From structured ops and memrefs to the LLVM dialect. `ub` and `index` ops are created on the way. `arith-expand` is
/// left out, because it expands `maximumf`, and LLVM then no longer recognizes a reduction.
const PIPELINE: &str = "builtin.module(\
    convert-linalg-to-loops,lower-affine,convert-vector-to-scf,expand-strided-metadata,lower-affine,\
    convert-complex-to-standard,convert-scf-to-cf,\
    convert-vector-to-llvm,convert-math-to-llvm,convert-math-to-libm,convert-complex-to-llvm,convert-index-to-llvm,\
    finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},\
    convert-arith-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts)";

/// The pipeline for modules of [`PLAIN`] ops only. It is shorter, because a pass takes time even if it finds nothing.
const PLAIN_PIPELINE: &str = "builtin.module(\
    convert-scf-to-cf,convert-vector-to-llvm,convert-math-to-llvm,convert-math-to-libm,\
    finalize-memref-to-llvm,convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},\
    convert-arith-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts)";

/// The ops that [`PLAIN_PIPELINE`] lowers: dialects, which end with a dot, and single ops.
const PLAIN: &[&str] = &[
    "arith.",
    "func.",
    "math.",
    "scf.for",
    "scf.if",
    "scf.yield",
    "memref.alloca",
    "memref.load",
    "memref.store",
    "vector.broadcast",
    "vector.load",
    "vector.shuffle",
    "vector.store",
];

/// Returns the attributes of every function. Kernels need no code for exceptions, and LLVM would by default use only
/// half of AVX-512's width. All functions have the same attributes, because LLVM builds an instruction table for each
/// set of attributes.
fn attributes(wide_vectors: bool) -> &'static str {
    if wide_vectors { r#"["nounwind", ["prefer-vector-width", "512"]]"# } else { r#"["nounwind"]"# }
}

/// A kernel's name and parameters.
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) parameters: Vec<Parameter>,
}

/// The kind of a kernel's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// The address of a buffer.
    Pointer,
    /// A 64-bit integer.
    Scalar,
}

impl Signature {
    /// Returns the number of parameters of a kind.
    pub(super) fn count(&self, kind: Parameter) -> usize {
        self.parameters.iter().filter(|&&parameter| parameter == kind).count()
    }
}

/// Returns the name of the entry of a kernel.
pub(super) fn entry_name(kernel: &str) -> String {
    format!("{kernel}.entry")
}

/// Collects MLIR's diagnostics while `run` works, and returns them as the error if it returns `None`.
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

/// The passes that lower the modules of a context. They are reused, because creating them takes as long as lowering a
/// small kernel.
pub(super) struct Passes<'c> {
    context: &'c Context,
    plain: OnceCell<PassManager<'c>>,
    all: OnceCell<PassManager<'c>>,
}

/// A parsed module with its elementary functions expanded.
pub(super) struct Read<'c> {
    module: Module<'c>,
    pub(super) signatures: Vec<Signature>,
    /// The symbols of the functions that it calls and doesn't contain.
    pub(super) calls: Vec<String>,
    /// Whether its loops use vectors.
    pub(super) has_vectors: bool,
}

impl<'c> Passes<'c> {
    pub(super) fn new(context: &'c Context) -> Self {
        Self { context, plain: OnceCell::new(), all: OnceCell::new() }
    }

    /// Parses the kernels of `text`. Errors are MLIR's diagnostics, or name a function that isn't a kernel.
    pub(super) fn read(&self, text: &str) -> Result<Read<'c>, String> {
        let module = self.parse(text)?;
        let signatures = signatures(&module)?;
        let calls = math::expand(self.context, &module)?;
        Ok(Read { module, signatures, calls, has_vectors: text.contains("vector.store") })
    }

    /// Lowers kernels to the LLVM dialect.
    pub(super) fn lower(&self, read: Read<'c>, wide_vectors: bool) -> Result<Module<'c>, String> {
        let module = self.run(read.module)?;
        set_attributes(self.context, &module, true, wide_vectors);
        append_entries(self.context, &module, &read.signatures, wide_vectors)?;
        Ok(module)
    }

    /// Returns the module of a function that kernels call, in the LLVM dialect.
    pub(super) fn function(&self, symbol: &str, wide_vectors: bool) -> Result<Module<'c>, String> {
        let text = math::definition(symbol).ok_or_else(|| format!("function @{symbol} is undefined"))?;
        let module = self.run(self.parse(&text)?)?;
        set_attributes(self.context, &module, false, wide_vectors);
        Ok(module)
    }

    fn parse(&self, text: &str) -> Result<Module<'c>, String> {
        if text.contains('\0') {
            return Err("the text contains a NUL byte".to_string());
        }
        with_diagnostics(self.context, || Module::parse(self.context, text))
    }

    fn run(&self, mut module: Module<'c>) -> Result<Module<'c>, String> {
        let (passes, pipeline) = match is_plain(module.body()) {
            true => (&self.plain, PLAIN_PIPELINE),
            false => (&self.all, PIPELINE),
        };
        let passes = passes.get_or_init(|| {
            let manager = PassManager::new(self.context);
            // Each pass leaves valid IR, so verifying once, at translation, is enough.
            manager.enable_verifier(false);
            parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline).expect("the pipeline is a constant");
            manager
        });
        with_diagnostics(self.context, || passes.run(&mut module).ok())?;
        Ok(module)
    }
}

/// Returns whether all ops are [`PLAIN`].
fn is_plain<'c, 'a>(block: BlockRef<'c, 'a>) -> bool {
    let mut next = block.first_operation();
    while let Some(operation) = next {
        next = operation.next_in_block();
        let name = operation.name();
        let is = |plain: &str, name: &str| name == plain || (plain.ends_with('.') && name.starts_with(plain));
        if !name.as_string_ref().as_str().is_ok_and(|name| PLAIN.iter().any(|plain| is(plain, name))) {
            return false;
        }
        for region in operation.regions() {
            let mut inner = region.first_block();
            while let Some(block) = inner {
                if !is_plain(block) {
                    return false;
                }
                inner = block.next_in_region();
            }
        }
    }
    true
}

/// Returns the signatures of a module's kernels: its public functions with a body.
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

/// Sets the attributes of every function with a body, and internal linkage if `is_internal`.
fn set_attributes<'c>(context: &'c Context, module: &Module<'c>, is_internal: bool, wide_vectors: bool) {
    let internal = Attribute::parse(context, "#llvm.linkage<internal>").expect("a constant of the llvm dialect");
    let attributes = Attribute::parse(context, attributes(wide_vectors)).expect("a constant attribute");
    let mut next = module.body().first_operation_mut();
    while let Some(mut operation) = next {
        next = operation.next_in_block_mut();
        if operation.name().as_string_ref().as_str() != Ok("llvm.func") || !has_body(&operation) {
            continue;
        }
        operation.set_attribute("passthrough", attributes);
        if !is_internal {
            continue;
        }
        operation.set_attribute("linkage", internal);
        let name = operation.attribute("sym_name").and_then(StringAttribute::try_from);
        if name.is_ok_and(|name| name.value().starts_with(math::PREFIX)) {
            operation.set_attribute("always_inline", Attribute::unit(context));
        }
    }
}

fn has_body<'c: 'a, 'a>(operation: &impl OperationLike<'c, 'a>) -> bool {
    operation.region(0).is_ok_and(|region| region.first_block().is_some())
}

/// Adds the entries, the only functions visible from outside.
fn append_entries<'c>(
    context: &'c Context,
    module: &Module<'c>,
    signatures: &[Signature],
    wide_vectors: bool,
) -> Result<(), String> {
    let mut text = String::new();
    for signature in signatures {
        write_entry(&mut text, signature, wide_vectors);
    }
    // The parser needs declarations of the callees. They are dropped when the entries are moved.
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

fn write_entry(text: &mut String, signature: &Signature, wide_vectors: bool) {
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
    let attributes = attributes(wide_vectors);
    let _ = writeln!(
        text,
        "llvm.func @{entry}(%pointers: !llvm.ptr, %scalars: !llvm.ptr) attributes {{passthrough = {attributes}}} {{"
    );
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

/// Returns a symbol name, quoted as in MLIR.
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
