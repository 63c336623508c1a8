//! What a shardc without native execution says where there would be some.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::Program;
use dialect::literal::Literal;

use super::{Compiled, ExecuteOptions, Execution, Interface};
use crate::diagnostic::one;
use crate::module::Module;

/// Nothing is planned where nothing runs.
pub(super) struct Planned;

pub(super) fn planned(_: Program) -> Result<Planned, Diagnostic> {
    Ok(Planned)
}

pub(super) fn native(
    _: &Module,
    _: Planned,
    _: &[Vec<Literal>],
    _: Vec<u32>,
    _: &ExecuteOptions,
) -> Result<Execution, Diagnostics> {
    Err(no_native())
}

pub(super) fn compiled(_: &Module, _: Planned, _: &ExecuteOptions) -> Result<Compiled, Diagnostics> {
    Err(no_native())
}

fn no_native() -> Diagnostics {
    let d = Diagnostic::error(
        codes::NO_NATIVE_EXECUTION,
        Default::default(),
        "this shardc was built without native execution",
    );
    one(d.note("the reference evaluator runs programs: add --interpret"))
}

pub(super) fn linalg(_: &Program) -> Result<String, Diagnostics> {
    Err(no_native())
}

pub(super) fn devices_fit(_: &Planned, _: &Interface) -> Result<(), Diagnostic> {
    Ok(())
}

/// The kernels that native execution compiles, as MLIR or as LLVM IR.
pub(super) fn kernels(_: Program, _: bool) -> Result<String, Diagnostics> {
    Err(no_native())
}
