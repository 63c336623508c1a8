//! shardc on modules in memory: [`run`] works on a [`Module`] in place, [`add_pass`] adds the same as a pass to
//! melior's pass managers.
//!
//! A module is passed as text in the generic form, with its locations. The result replaces the module's body and
//! attributes. Ops, attributes and types that shardc doesn't know are kept. The context must know the dialects
//! stablehlo and sdy, or allow unregistered ones.
#![cfg(feature = "mlir")]

use std::error::Error;
use std::fmt;

use melior::Context;
use melior::ir::attribute::Attribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationBuilder, OperationLike, OperationMutLike, OperationPrintingFlags};
use melior::ir::r#type::TypeId;
use melior::ir::{Block, BlockRef, Identifier, Location, Module, OperationRef, Region, RegionLike};
use melior::pass::{ExternalPass, PassManager, RunExternalPass, create_external};
use shardc::{Compiler, Diagnostics, PrintOptions, Source, on_deep_stack};

pub use melior;

/// The reason why a module was left unchanged.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The diagnostics of shardc about the program. Places refer to its generic text, and to the user's program where
    /// the module has locations.
    Program(Diagnostics),
    /// The error of MLIR while it read or printed the module.
    Mlir(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Program(diagnostics) => diagnostics.fmt(f),
            Fault::Mlir(message) => f.write_str(message),
        }
    }
}

impl Error for Fault {}

/// Runs passes and pipelines of shardc (`compile`, `import,propagate`, `plan{target=v5e:4x4}`) on a module, in place.
///
/// ```
/// use shardc_mlir::melior::{Context, ir::{Module, operation::OperationLike}};
///
/// let context = Context::new();
/// context.set_allow_unregistered_dialects(true);
/// context.load_all_available_dialects();
/// # let registry = shardc_mlir::melior::dialect::DialectRegistry::new();
/// # shardc_mlir::melior::utility::register_all_dialects(&registry);
/// # context.append_dialect_registry(&registry);
/// # context.load_all_available_dialects();
/// let mut module = Module::parse(&context, r#"
///   module {
///     func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
///     func.func private @unused(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
///   }"#).unwrap();
/// shardc_mlir::run(&context, &mut module, "symbol-dce").unwrap();
/// assert!(!module.as_operation().to_string().contains("@unused"));
/// ```
///
/// # Errors
/// A fault of the program or of `passes`, or a result that MLIR can't read; the module stays unchanged.
pub fn run<'c>(context: &'c Context, module: &mut Module<'c>, passes: &str) -> Result<(), Fault> {
    run_with(&Compiler::standard(), context, module, passes)
}

/// Runs passes as [`run`] does, by a compiler that has more ops, passes, pipelines or targets.
///
/// # Errors
/// As [`run`].
pub fn run_with<'c>(
    compiler: &Compiler,
    context: &'c Context,
    module: &mut Module<'c>,
    passes: &str,
) -> Result<(), Fault> {
    replace(compiler, context, module.as_operation(), passes)
}

/// Adds a pass over modules that runs passes of shardc to a pass manager of this context. If it fails, it calls
/// `report` with the reason. One pass with a list is cheaper than several, because each passes the whole program as
/// text.
pub fn add_pass<'c>(
    manager: &PassManager<'c>,
    context: &'c Context,
    passes: &str,
    report: impl Fn(&Fault) + Clone + 'static,
) {
    add_pass_with(&Compiler::standard(), manager, context, passes, report);
}

/// Adds a pass as [`add_pass`] does, with a compiler that has more ops, passes, pipelines or targets.
pub fn add_pass_with<'c>(
    compiler: &Compiler,
    manager: &PassManager<'c>,
    context: &'c Context,
    passes: &str,
    report: impl Fn(&Fault) + Clone + 'static,
) {
    // melior's `Pass` has no lifetime parameter, so it isn't returned: the manager is dropped before the context.
    let run = Run { compiler: compiler.clone(), context, passes: passes.to_owned(), report };
    let pass =
        create_external(run, TypeId::create(&ID), "shardc", "shardc", "Runs passes of shardc", "builtin.module", &[]);
    manager.add_pass(pass);
}

/// MLIR identifies a kind of pass by an address, which has to be aligned.
#[repr(align(8))]
struct PassId;

static ID: PassId = PassId;

#[derive(Clone)]
struct Run<'c, R> {
    compiler: Compiler,
    context: &'c Context,
    passes: String,
    report: R,
}

impl<'c, R: Fn(&Fault) + Clone> RunExternalPass<'c> for Run<'c, R> {
    fn initialize(&mut self, _: melior::ContextRef<'c>) {}

    fn run(&mut self, module: OperationRef<'c, '_>, pass: ExternalPass<'_>) {
        if let Err(fault) = replace(&self.compiler, self.context, module, &self.passes) {
            (self.report)(&fault);
            pass.signal_failure();
        }
    }
}

/// Replaces a module by the result of the passes.
fn replace<'c>(
    compiler: &Compiler,
    context: &'c Context,
    module: OperationRef<'c, '_>,
    passes: &str,
) -> Result<(), Fault> {
    if module.context() != *context {
        return Err(Fault::Mlir("the module belongs to another context than the given one".to_owned()));
    }
    let flags = OperationPrintingFlags::new().print_generic_operation_form().enable_debug_info(true, false);
    let text = module.to_string_with_flags(flags).map_err(|fault| Fault::Mlir(fault.to_string()))?;
    let text = compiled(compiler, text, passes).map_err(Fault::Program)?;
    let Some(made) = Module::parse(context, &text) else {
        let how = "register stablehlo and sdy in the context, or allow unregistered dialects";
        return Err(Fault::Mlir(format!("MLIR can't read the result of shardc: {how}")));
    };
    let old = module.region(0).ok().and_then(|region| region.first_block());
    let Some(old) = old else { return Err(Fault::Mlir("the pass can only run on modules".to_owned())) };
    let new = made.body();
    // Each body gets a marker op at its end, and ops are moved before these markers: the old ops to `made`, which is
    // dropped with them, and the new ops to the module.
    let (had, has) = (count(&old), count(&new));
    let (mut end, new_end) = (mark(context, &old)?, mark(context, &new)?);
    move_first(&old, had, new_end);
    move_first(&new, has, end);
    if let Some(mut own) = end.parent_operation_mut() {
        let name = |attribute: &(Identifier<'c>, Attribute<'c>)| {
            attribute.0.as_string_ref().as_str().map(str::to_owned).unwrap_or_default()
        };
        let before: Vec<String> = own.attributes().map(|a| name(&a)).collect();
        for name in before {
            // Removal can't fail, because the attribute was just listed.
            let _ = own.remove_attribute(&name);
        }
        made.as_operation().attributes().for_each(|a| own.set_attribute(&name(&a), a.1));
    }
    let mut last = old.first_operation_mut();
    for _ in 0..has {
        last = last.and_then(|op| op.next_in_block_mut());
    }
    if let Some(mut last) = last {
        last.move_before(new_end);
    }
    Ok(())
}

/// Returns the text after these passes.
fn compiled(compiler: &Compiler, text: String, passes: &str) -> Result<String, Diagnostics> {
    on_deep_stack(|| {
        let module = compiler.parse(Source::new("module", text)).into_result()?;
        let module = compiler.run_passes(module, passes).into_result()?;
        Ok(compiler.print(&module, PrintOptions { generic: true, locations: true, ..PrintOptions::default() }))
    })
}

/// Returns the number of ops in a block.
fn count(block: &BlockRef<'_, '_>) -> usize {
    std::iter::successors(block.first_operation(), |op| op.next_in_block()).count()
}

/// Appends an empty marker op to a block.
fn mark<'c, 'a>(context: &'c Context, block: &BlockRef<'c, 'a>) -> Result<OperationRef<'c, 'a>, Fault> {
    let body = Region::new();
    body.append_block(Block::new(&[]));
    let op = OperationBuilder::new("builtin.module", Location::unknown(context)).add_regions([body]).build();
    Ok(block.append_operation(op.map_err(|fault| Fault::Mlir(fault.to_string()))?))
}

/// Moves the first `count` ops of a block before `to`.
fn move_first<'c: 'a, 'a>(block: &BlockRef<'c, 'a>, count: usize, to: OperationRef<'c, 'a>) {
    for _ in 0..count {
        if let Some(mut first) = block.first_operation_mut() {
            first.move_before(to);
        }
    }
}
