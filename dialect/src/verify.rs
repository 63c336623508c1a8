//! Whole-module checks.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ir::Program;

/// Checks every op's types against what its operands and attributes give.
pub fn verify(program: &Program, diagnostics: &mut Diagnostics) {
    program.walk(program.body(), &mut |op| {
        let view = program.view(op);
        if let Err(problems) = view.def().infer(view) {
            for p in problems {
                let span = p.operand.map_or(view.span(), |i| view.operand_span(i));
                let d = Diagnostic::error("type", span, p.message);
                diagnostics.push(if p.note.is_empty() { d } else { d.note(p.note) });
            }
        }
    });
}
