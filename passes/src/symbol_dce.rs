//! symbol-dce: removes private functions that public ops don't reach, like mlir-opt's pass of that name.
//!
//! A function is reached by calls, and by any other op that names it, such as a composite (its decomposition) or a
//! custom call (its callee).

use crate::pass::{Effect, Pass};
use crate::symbols::remove_unused_functions;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "symbol-dce",
    doc: "Removes private functions that public functions don't reach.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, _| remove_unused_functions(program),
};
