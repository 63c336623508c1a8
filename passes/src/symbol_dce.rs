//! symbol-dce: removes private functions that public ops don't reach, like mlir-opt's pass of that name.
//!
//! A function is reached by calls, and by any other op that names it, such as a composite (its decomposition) or a
//! custom call (its callee).

use crate::pass::{Effect, Pass};
use crate::symbols::remove_unused_functions;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "symbol-dce",
    doc: "Remove private functions that no public function leads to.",
    effect: Effect::Rewrite,
    options: &[],
    run: |program, _, _| remove_unused_functions(program),
};
