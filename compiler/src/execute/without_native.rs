//! Replacements for native execution in a build without it; they return errors.

use dialect::codes;
use dialect::diagnostic::{Diagnostic, Diagnostics};
use dialect::ir::Program;
use dialect::literal::Literal;

use super::{Compiled, ExecuteOptions, Execution, Interface};
use crate::diagnostic::one;
use crate::module::Module;

/// A placeholder: without native execution, no memory is planned.
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
    one(d.note("add --interpret to run with the reference evaluator"))
}

pub(super) fn linalg(_: &Program) -> Result<String, Diagnostics> {
    Err(no_native())
}

pub(super) fn devices_fit(_: &Planned, _: &Interface) -> Result<(), Diagnostic> {
    Ok(())
}

/// Returns an error, because there are no native kernels.
pub(super) fn kernels(_: Program, _: bool) -> Result<String, Diagnostics> {
    Err(no_native())
}
