//! What a custom call states about the kernel that it runs: the kernel's name, its configuration, and its stated cost.
//!
//! Sources: JAX's `tpu_custom_call.py` (`kernel_name`), its Pallas lowering for Triton (`name` in the configuration),
//! and `fused_attention_stablehlo.py` (the configuration of cuDNN's attention).

use super::custom_call::target;
use crate::ir::{Attr, AttrData, OpRef};
use crate::kernel::{BYTES, FLOPS, LibraryCall};
use crate::op::Problem;
use crate::ops::mhlo;
use crate::ops::support::constraint::Checked;

/// The configuration of calls of the typed interface before StableHLO had dictionaries.
const MHLO_CONFIG: &str = "mhlo.backend_config";

/// Returns the call of a kernel that `op` is.
pub(super) fn of<'a>(op: OpRef<'a>) -> LibraryCall<'a> {
    let text = |name| op.attr(name).and_then(AttrData::as_str).filter(|text| !text.is_empty());
    let entry = |config: &str| {
        let Some(AttrData::Dict(entries)) = op.attr(config) else { return None };
        let is_name = |entry: &&(_, Attr)| op.program.name_text(entry.0) == "name";
        op.program.attr_data(entries.iter().find(is_name)?.1).as_str()
    };
    LibraryCall {
        target: target(op),
        kernel: text("kernel_name").or_else(|| entry("backend_config")).or_else(|| entry(MHLO_CONFIG)),
        config: text("backend_config"),
        flops: stated(op, FLOPS).ok().flatten(),
        bytes: stated(op, BYTES).ok().flatten(),
    }
}

/// Checks the stated cost.
pub(super) fn check(op: OpRef<'_>) -> Checked<()> {
    stated(op, FLOPS)?;
    stated(op, BYTES)?;
    Ok(())
}

/// Returns the number that the attribute `name`, or the frontend's attribute of this name, states.
fn stated(op: OpRef<'_>, name: &str) -> Result<Option<f64>, Problem> {
    let number = match (op.attr(name), mhlo::frontend_attribute(op, name)) {
        (Some(AttrData::Int(number, _)), _) => Some(*number as f64),
        (Some(attr), _) => attr.as_float(),
        (None, Some(text)) => text.trim().parse().ok(),
        (None, None) => return Ok(None),
    };
    match number {
        Some(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
        _ => Err(Problem::new(format!("expected {name} to be a number of at least 0"))
            .note(format!("write {name} = 1.5e12 : f64, for one call on one device"))),
    }
}
