//! Which devices take part together: the specification's four ways to read `replica_groups`.
//!
//! Source: the StableHLO specification, "Collective ops". Devices are flat ids, `replica * partitions + partition`.

use std::collections::HashSet;

use crate::eval::{EvalError, EvalResult, Mask};
use crate::ir::{AttrData, OpRef};
use crate::op::Problem;
use crate::ops::func;
use crate::sharding::MAX_DEVICES;

use super::mesh_axes::mesh_groups;

/// How ids in `replica_groups` name devices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Ids are replicas; every partition has groups of its own.
    CrossReplica,
    /// Ids are partitions; every replica has groups of its own.
    CrossPartition,
    /// Ids are replicas; all their partitions are in the group.
    CrossReplicaAndPartition,
    /// Ids are flat.
    Flattened,
}

/// What an op says of its groups.
pub(super) struct Groups {
    /// The rows as written; -1, which pads uneven groups, left out. Empty: one group of all.
    pub(super) rows: Vec<Vec<i64>>,
    /// The length of a row, padding included.
    pub(super) width: usize,
    /// How to read them.
    pub(super) mode: Mode,
}

/// Ops whose ids are replicas or, with a channel, partitions: all_to_all, permute, broadcast.
pub(super) fn replicas_or_partitions(op: OpRef<'_>) -> Mode {
    if has_channel(op) { Mode::CrossPartition } else { Mode::CrossReplica }
}

/// Ops that may say `use_global_device_ids`: all_gather, all_reduce, reduce_scatter.
pub(super) fn maybe_global(op: OpRef<'_>) -> Mode {
    match (op.flag("use_global_device_ids"), has_channel(op)) {
        (true, _) => Mode::Flattened,
        (false, true) => Mode::CrossReplicaAndPartition,
        (false, false) => Mode::CrossReplica,
    }
}

/// Whether it communicates over a channel, that is, between partitions.
pub(super) fn has_channel(op: OpRef<'_>) -> bool {
    op.field("channel_handle", "handle").and_then(AttrData::as_int).is_some_and(|h| h > 0)
}

impl Groups {
    /// The groups in attribute `name`, a tensor of integers of rank 2.
    pub(super) fn of(op: OpRef<'_>, name: &str, mode: Mode) -> Option<Self> {
        if let Some(rows) = mesh_groups(op, name) {
            let width = rows.first().map_or(0, Vec::len);
            return Some(Self { rows, width, mode });
        }
        let literal = op.dense(name)?;
        let [_, width] = literal.shape[..] else { return None };
        // A splat may claim any shape.
        if literal.len() as i64 > 4 * MAX_DEVICES {
            return None;
        }
        let ids = literal.to_ints()?;
        let width = width.max(0) as usize;
        let rows = if width == 0 { Vec::new() } else { ids.chunks(width).map(unpadded).collect() };
        Some(Self { rows, width, mode })
    }

    /// The groups as flat device ids; none for more than [`MAX_DEVICES`] devices.
    pub(super) fn flat(&self, replicas: i64, partitions: i64) -> Vec<Vec<i64>> {
        if replicas.saturating_mul(partitions) > MAX_DEVICES {
            return Vec::new();
        }
        let all = [(0..self.ids(replicas, partitions)).collect::<Vec<i64>>()];
        let rows: &[Vec<i64>] = if self.rows.is_empty() { &all } else { &self.rows };
        let row_by = |count: i64, id: &dyn Fn(i64, i64) -> i64| -> Vec<Vec<i64>> {
            let each = rows.iter().flat_map(|row| (0..count).map(move |k| (row, k)));
            each.map(|(row, k)| row.iter().map(|&i| id(i, k)).collect()).collect()
        };
        // Ids are anything until they are checked.
        let device = |r: i64, p: i64| r.saturating_mul(partitions).saturating_add(p);
        match self.mode {
            Mode::Flattened => rows.to_vec(),
            Mode::CrossReplica => row_by(partitions, &device),
            Mode::CrossPartition => row_by(replicas, &|p, r| device(r, p)),
            Mode::CrossReplicaAndPartition => rows
                .iter()
                .map(|row| (0..partitions).flat_map(|p| row.iter().map(move |&r| device(r, p))).collect())
                .collect(),
        }
    }

    /// How many devices a group has where the module says how many there are, or the rows alone do.
    pub(super) fn known_size(&self, op: OpRef<'_>) -> Option<i64> {
        match func::declared_grid(op.program) {
            Some((replicas, partitions)) => Some(self.size(replicas, partitions)),
            None if self.rows.is_empty() || self.mode == Mode::CrossReplicaAndPartition => None,
            None => Some(self.width as i64),
        }
    }

    /// How many devices a group has: `dim(process_groups, 1)`.
    pub(super) fn size(&self, replicas: i64, partitions: i64) -> i64 {
        let row = if self.rows.is_empty() { self.ids(replicas, partitions) } else { self.width as i64 };
        if self.mode == Mode::CrossReplicaAndPartition { row.saturating_mul(partitions) } else { row }
    }

    /// Whether all groups have as many devices as the rows are long.
    pub(super) fn even(&self) -> bool {
        self.rows.iter().all(|row| row.len() == self.width)
    }

    /// How many ids there are to name.
    fn ids(&self, replicas: i64, partitions: i64) -> i64 {
        match self.mode {
            Mode::CrossReplica | Mode::CrossReplicaAndPartition => replicas,
            Mode::CrossPartition => partitions,
            Mode::Flattened => replicas.saturating_mul(partitions),
        }
    }

    /// Ids must be unique, in range, and cover all where `cover` says so. Labels: of uniqueness, size, range.
    pub(super) fn check(&self, op: OpRef<'_>, labels: [&str; 3], cover: bool, problems: &mut Vec<Problem>) {
        let mut seen = HashSet::new();
        for &id in self.rows.iter().flatten() {
            if id < 0 {
                problems.push(Problem::new(format!("device id {id} in the groups is negative ({})", labels[2])));
            }
            if !seen.insert(id) {
                problems.push(
                    Problem::new(format!("device id {id} stands in the groups twice ({})", labels[0]))
                        .note("every device belongs to one group"),
                );
            }
        }
        // A module that names no devices leaves open who runs it.
        let Some((replicas, partitions)) = func::declared_grid(op.program) else {
            let missing = (0..seen.len() as i64).find(|id| !seen.contains(id));
            if let Some(id) = missing.filter(|_| cover && problems.is_empty()) {
                problems.push(
                    Problem::new(format!("device id {id} is in no group ({})", labels[1]))
                        .note("every device belongs to one group"),
                );
            }
            return;
        };
        let ids = self.ids(replicas, partitions);
        if let Some(id) = seen.iter().copied().filter(|&id| id >= ids).min() {
            problems.push(
                Problem::new(format!("device id {id} in the groups, but there are {ids} devices ({})", labels[2]))
                    .note(self.counted(replicas, partitions)),
            );
        } else if cover && !self.rows.is_empty() && (seen.len() as i64) < ids {
            problems.push(
                Problem::new(format!("the groups hold {} of {ids} devices ({})", seen.len(), labels[1]))
                    .note(self.counted(replicas, partitions)),
            );
        }
    }

    /// Which ids count, in words.
    fn counted(&self, replicas: i64, partitions: i64) -> String {
        let ids = match self.mode {
            Mode::CrossReplica => "without a channel the ids are replicas",
            Mode::CrossReplicaAndPartition => "without use_global_device_ids the ids are replicas",
            Mode::CrossPartition => "with a channel the ids are partitions",
            Mode::Flattened => "with use_global_device_ids the ids are replica * partitions + partition",
        };
        format!("{ids}; the module has {replicas} replicas and {partitions} partitions")
    }
}

fn unpadded(row: &[i64]) -> Vec<i64> {
    row.iter().copied().filter(|&id| id != -1).collect()
}

/// The groups that run, as positions in the lanes. An error when one is split by the mask or names a device that
/// isn't there, or, with `cover`, when a running device is in none.
pub(super) fn running(groups: &[Vec<i64>], mask: &Mask, cover: bool) -> EvalResult<Vec<Vec<usize>>> {
    let mut covered = vec![false; mask.len()];
    let mut out = Vec::new();
    for group in groups {
        let mut lanes = Vec::with_capacity(group.len());
        for &id in group {
            match usize::try_from(id).ok().filter(|&lane| lane < mask.len()) {
                Some(lane) => lanes.push(lane),
                None => return Err(EvalError::new(format!("device {id} of a group, but {} devices run", mask.len()))),
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

    fn groups(rows: &[&[i64]], mode: Mode) -> Groups {
        Groups { rows: rows.iter().map(|r| r.to_vec()).collect(), width: rows.first().map_or(0, |r| r.len()), mode }
    }

    #[test]
    fn reads_groups_as_the_specification_does() {
        let rows: &[&[i64]] = &[&[0, 1], &[2, 3]];
        let flat = |mode| groups(rows, mode).flat(4, 2);
        assert_eq!(flat(Mode::CrossReplica), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(flat(Mode::CrossReplicaAndPartition), [[0, 2, 1, 3], [4, 6, 5, 7]]);
        assert_eq!(flat(Mode::Flattened), [[0, 1], [2, 3]]);
        assert_eq!(groups(&[&[0, 1]], Mode::CrossPartition).flat(4, 2), [[0, 1], [2, 3], [4, 5], [6, 7]]);
    }

    #[test]
    fn no_rows_are_one_group_of_all() {
        assert_eq!(groups(&[], Mode::Flattened).flat(2, 2), [[0, 1, 2, 3]]);
        assert_eq!(groups(&[], Mode::CrossReplica).flat(2, 2), [[0, 2], [1, 3]]);
        assert_eq!(groups(&[], Mode::CrossReplicaAndPartition).size(2, 3), 6);
    }

    #[test]
    fn a_split_group_is_an_error() {
        let all = [vec![0, 1], vec![2, 3]];
        assert_eq!(running(&all, &vec![true, true, false, false], true), Ok(vec![vec![0, 1]]));
        let message = running(&all, &vec![true, false, true, true], true).unwrap_err().message;
        assert_eq!(message, "device 0 waits for device 1, which took another branch or left the loop");
        assert!(running(&all, &vec![true; 5], true).unwrap_err().message.contains("device 4"));
        assert!(running(&all, &vec![true; 3], true).unwrap_err().message.contains("device 3"));
    }
}
