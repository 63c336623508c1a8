//! The bytes that each op reads and writes in memory.
//!
//! Ops folded into their users cost nothing; their users read the folded ops' operands instead.

use dialect::buffers::Fusion;
use dialect::ir::{Op, Program, Value};
use dialect::kernel::Kernel;
use dialect::memory::MemorySpaces;

/// Bytes that an op reads and writes.
#[derive(Clone, Copy, Default)]
pub(super) struct Traffic {
    /// In the device's memory.
    pub(super) device: f64,
    /// From the host's memory to the device.
    pub(super) from_host: f64,
    /// From the device to the host's memory.
    pub(super) to_host: f64,
}

impl Traffic {
    /// The bytes of `op`: of an operand, no more than its loops touch. What is read and written on the host alone costs
    /// the device nothing.
    pub(super) fn of(program: &Program, fusion: &Fusion, spaces: &MemorySpaces, op: Op) -> Self {
        let view = program.view(op);
        // A folded op's traffic is counted for its reader.
        if view.def().constant(view).is_some() || view.def().terminator() || fusion.is_folded(op) {
            return Self::default();
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
        if !spaces.any_on_host() {
            let device = written + fusion.reads(program, op).iter().map(|s| read(s.value)).sum::<f64>();
            return Self { device, ..Self::default() };
        }
        let writes_host = view.results().any(|v| spaces.is_on_host(v));
        let mut traffic = Self { device: if writes_host { 0.0 } else { written }, ..Self::default() };
        for value in fusion.reads(program, op).iter().map(|s| s.value) {
            match (writes_host, spaces.is_on_host(value)) {
                (false, false) => traffic.device += read(value),
                (false, true) => traffic.from_host += read(value),
                // Positions are sent along with the request for the copy.
                (true, false) if program.tensor_type(value).is_some_and(|t| t.rank() > 0) => {
                    traffic.to_host += read(value);
                }
                (true, _) => {}
            }
        }
        traffic
    }
}

/// Returns the bytes of a value on one device; 0 for tokens and unknown sizes.
pub(crate) fn bytes_of(program: &Program, value: Value) -> f64 {
    program.tensor_type(value).and_then(|t| t.bytes()).unwrap_or(0) as f64
}
