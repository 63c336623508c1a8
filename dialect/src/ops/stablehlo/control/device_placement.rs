//! The custom calls that copy a value between the memory of a device and that of its host.
//!
//! JAX writes `annotate_device_placement` with the memory kind in its frontend attributes; XLA has a call for each
//! direction.

use super::custom_call::{CustomCall, target};
use crate::ir::build::Builder;
use crate::ir::{AttrData, OpRef, Value};
use crate::memory::{KNOWN_KINDS, MemorySpace};
use crate::op::Problem;
use crate::ops::mhlo;
use crate::ops::support::constraint::Checked;

const PLACE: &str = "annotate_device_placement";
const PLACEMENT: &str = "_xla_buffer_placement";

fn stated<'a>(op: OpRef<'a>) -> Option<&'a str> {
    if target(op) == PLACE { mhlo::frontend_attribute(op, PLACEMENT) } else { None }
}

/// Returns the memory that a call copies its operand to; `None` for other calls, and for a placement that names none.
pub(super) fn memory(op: OpRef<'_>) -> Option<MemorySpace> {
    match target(op) {
        "MoveToHost" => Some(MemorySpace::Host),
        "MoveToDevice" => Some(MemorySpace::Device),
        _ => stated(op).and_then(MemorySpace::of_kind),
    }
}

/// Checks that the memory kind is known.
pub(super) fn check(op: OpRef<'_>) -> Checked<()> {
    let kind = stated(op);
    match kind.filter(|kind| MemorySpace::of_kind(kind).is_none()) {
        Some(kind) => Err(Problem::new(format!("unknown memory kind \"{kind}\"")).note(KNOWN_KINDS)),
        None => Ok(()),
    }
}

/// Copies a value to a memory: `annotate_device_placement`.
pub(crate) fn build(b: &mut Builder<'_>, value: Value, to: MemorySpace) -> Value {
    let (call, kind) = (b.program.attr_str(PLACE), b.program.attr_str(to.kind()));
    let (key, effect) = (b.program.name(PLACEMENT), b.program.intern_attr(AttrData::Bool(true)));
    let frontend = b.program.intern_attr(AttrData::Dict(vec![(key, kind)]));
    let attrs = [("call_target_name", call), ("has_side_effect", effect), (mhlo::FRONTEND_ATTRIBUTES, frontend)];
    let ty = b.program.value_type(value);
    let op = b.op(&CustomCall, &[value], &[ty], &attrs);
    b.program.result(op, 0)
}
