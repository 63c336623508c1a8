//! MHLO attributes that modules still have; the dialect's ops are now StableHLO's.

use crate::ir::{AttrData, OpRef};

/// On a module: how many replicas run it, each with arguments of its own.
pub const NUM_REPLICAS: &str = "mhlo.num_replicas";
/// On a module: the number of devices that run each replica.
pub const NUM_PARTITIONS: &str = "mhlo.num_partitions";
/// On arguments, results and ops: a sharding in HLO's syntax, used before Shardy.
pub const SHARDING: &str = "mhlo.sharding";
/// On modules, arguments, results and ops: text from a frontend for other tools.
pub const FRONTEND_ATTRIBUTES: &str = "mhlo.frontend_attributes";
/// The custom call that states a sharding of its operand, used before Shardy.
pub const SHARDING_CALL: &str = "Sharding";
/// The custom call from a global value to a device's shard: the entry of a manual region before Shardy.
pub const ENTER_MANUAL: &str = "SPMDFullToShardShape";
/// The custom call from a device's shard to the global value: the exit of a manual region before Shardy.
pub const LEAVE_MANUAL: &str = "SPMDShardToFullShape";

/// Returns the text that a frontend left on an op under this name.
pub fn frontend_attribute<'a>(op: OpRef<'a>, name: &str) -> Option<&'a str> {
    let Some(AttrData::Dict(entries)) = op.attr(FRONTEND_ATTRIBUTES) else { return None };
    let entry = entries.iter().find(|entry| op.program.name_text(entry.0) == name)?;
    op.program.attr_data(entry.1).as_str()
}
