//! symbol-dce: removes private functions that nothing public leads to, as mlir-opt's pass of that name does.
//!
//! A function is led to by calls, and by any other op that names it: a composite's decomposition, a custom call's callee.

use crate::pass::Pass;
use crate::symbols::remove_unused_functions;

/// The pass.
pub(crate) static PASS: Pass = Pass {
    name: "symbol-dce",
    doc: "Remove private functions that no public function leads to.",
    options: &[],
    run: |program, _, _| remove_unused_functions(program),
};
