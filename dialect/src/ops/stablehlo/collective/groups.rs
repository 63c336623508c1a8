//! The groups of devices: the specification's four ways to read `replica_groups`.
//!
//! Source: the StableHLO specification, "Collective ops". Devices are flat ids, `replica * partitions + partition`.

use crate::collective::{Groups, IdMode, Rows};
use crate::eval::{EvalError, EvalResult, Mask};
use crate::ir::{AttrData, OpRef};
use crate::ops::func;

/// Returns the id mode of ops whose ids are replicas or, with a channel, partitions: all_to_all, collective_permute,
/// collective_broadcast.
pub(super) fn replicas_or_partitions(op: OpRef<'_>) -> IdMode {
    if has_channel(op) { IdMode::CrossPartition } else { IdMode::CrossReplica }
}

/// Returns the id mode of ops that may set `use_global_device_ids`: all_gather, all_reduce, reduce_scatter.
pub(super) fn maybe_global(op: OpRef<'_>) -> IdMode {
    match (op.flag("use_global_device_ids"), has_channel(op)) {
        (true, _) => IdMode::Flattened,
        (false, true) => IdMode::CrossReplicaAndPartition,
        (false, false) => IdMode::CrossReplica,
    }
}

/// Returns whether it communicates over a channel, that is, between partitions.
pub(super) fn has_channel(op: OpRef<'_>) -> bool {
    op.field("channel_handle", "handle").and_then(AttrData::as_int).is_some_and(|h| h > 0)
}

/// Returns the number of devices in a group, if the module declares its device count or the rows alone determine it.
pub(super) fn known_size(op: OpRef<'_>, groups: &Groups) -> Option<i64> {
    let open = matches!(groups.rows(), Rows::All) || groups.mode() == IdMode::CrossReplicaAndPartition;
    match func::declared_devices(op.program) {
        None if open => None,
        _ => Some(groups.padded_size()),
    }
}

/// Returns the running groups as positions in the lanes. It is an error if the mask splits a group, if a group names a
/// device that doesn't exist or, with `cover`, if a running device is in no group.
pub(in crate::ops::stablehlo) fn running(groups: &Groups, mask: &Mask, cover: bool) -> EvalResult<Vec<Vec<usize>>> {
    let mut covered = vec![false; mask.len()];
    let mut out = Vec::new();
    for group in groups.iter() {
        let mut lanes = Vec::new();
        for id in group {
            match usize::try_from(id).ok().filter(|&lane| lane < mask.len()) {
                Some(lane) => lanes.push(lane),
                None => {
                    return Err(EvalError::new(format!("a group names device {id}, but {} devices run", mask.len())));
                }
            }
        }
        let runs = lanes.iter().filter(|&&lane| mask[lane]).count();
        if runs == 0 {
            continue;
        }
        if runs < lanes.len() {
            let absent = lanes.iter().find(|&&lane| !mask[lane]).copied().unwrap_or(0);
            let present = lanes.iter().find(|&&lane| mask[lane]).copied().unwrap_or(0);
            return Err(EvalError::new(format!(
                "device {present} waits for device {absent}, which took another branch or left the loop"
            )));
        }
        lanes.iter().for_each(|&lane| covered[lane] = true);
        out.push(lanes);
    }
    match (0..mask.len()).find(|&lane| cover && mask[lane] && !covered[lane]) {
        Some(lane) => Err(EvalError::new(format!("device {lane} runs the op but is in no group"))),
        None => Ok(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_group_is_an_error() {
        let all = Groups::of_lists(&[vec![0, 1], vec![2, 3]]);
        assert_eq!(running(&all, &vec![true, true, false, false], true), Ok(vec![vec![0, 1]]));
        let message = running(&all, &vec![true, false, true, true], true).unwrap_err().message;
        assert_eq!(message, "device 0 waits for device 1, which took another branch or left the loop");
        assert!(running(&all, &vec![true; 5], true).unwrap_err().message.contains("device 4"));
        assert!(running(&all, &vec![true; 3], true).unwrap_err().message.contains("device 3"));
    }
}
