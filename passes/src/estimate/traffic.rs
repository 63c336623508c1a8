//! Bytes that each op reads and writes in memory.
//!
//! Ops folded into their readers cost nothing: their readers read the folded ops' operands instead.

use dialect::buffers::Fusion;
use dialect::ir::{Op, Program, Value};
use dialect::kernel::Kernel;

/// Bytes that `op` reads and writes: of an operand, no more than its loops touch.
pub(super) fn bytes(program: &Program, fusion: &Fusion, op: Op) -> f64 {
    let view = program.view(op);
    // A folded op's traffic is counted for its reader.
    if view.def().constant(view).is_some() || view.def().terminator() || fusion.is_folded(op) {
        return 0.0;
    }
    let written: f64 = view.results().map(|v| bytes_of(program, v)).sum();
    let touched = match view.def().kernel(view) {
        Kernel::Nest(nest) => nest.loops.iter().map(|&n| n.max(0) as f64).product(),
        _ => f64::INFINITY,
    };
    let read = |v: Value| {
        let element = program.tensor_type(v).map_or(0, |t| t.element.bytes()) as f64;
        bytes_of(program, v).min(touched * element)
    };
    written + fusion.reads(program, op).iter().map(|s| read(s.value)).sum::<f64>()
}

/// Bytes of a value on one device; 0 for tokens and unknown sizes.
pub(crate) fn bytes_of(program: &Program, value: Value) -> f64 {
    program.tensor_type(value).and_then(|t| t.bytes()).unwrap_or(0) as f64
}
