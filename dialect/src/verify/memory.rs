//! Memory kinds that arguments and results of functions name.

use super::Verifier;
use super::place::AttrRange;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::ir::{AttrData, OpRef};
use crate::memory::{KNOWN_KINDS, MEMORY_KIND, MemorySpace};
use crate::ops::func;

impl Verifier<'_> {
    pub(super) fn memory_kinds(&mut self, op: OpRef<'_>) {
        if !func::is_function(op) {
            return;
        }
        let (program, signature) = (self.program, func::signature(self.program, op.op));
        let arguments = match op.attr(func::ARG_ATTRS) {
            Some(_) => signature.inputs.len(),
            None => 0,
        };
        let results = match op.attr(func::RES_ATTRS) {
            Some(_) => signature.results.len(),
            None => 0,
        };
        let of_arguments = (0..arguments).map(|i| ("argument", i, func::arg_attr(program, op.op, i, MEMORY_KIND)));
        let of_results = (0..results).map(|i| ("result", i, func::result_attr(program, op.op, i, MEMORY_KIND)));
        for (what, i, kind) in of_arguments.chain(of_results) {
            let Some(kind) = kind.map(|kind| program.attr_data(kind)) else { continue };
            if kind.as_str().is_some_and(|kind| MemorySpace::of_kind(kind).is_some()) {
                continue;
            }
            let kind = match kind {
                AttrData::String(_) => format!("unknown memory kind \"{}\"", kind.as_str().unwrap_or("…")),
                _ => "expected a memory kind as a string".to_owned(),
            };
            let argument = func::block(program, op.op).and_then(|block| program.block_args(block).get(i).copied());
            let span = match argument.filter(|_| what == "argument") {
                Some(value) => program.value_span(value),
                None => AttrRange::of_op(op).fallback,
            };
            let d = Diagnostic::error(codes::MEMORY_KIND, span, format!("{what} {i}: {kind}"));
            self.push(d.note(KNOWN_KINDS));
        }
    }
}
