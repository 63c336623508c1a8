//! The specification's constraints on the device groups of an op.

use std::collections::HashSet;

use super::attribute::{is_along_axes, is_compact, rows};
use super::groups::{Groups, IdMode, Rows};
use crate::ir::{AttrData, Op, OpRef};
use crate::op::Problem;
use crate::ops::{func, sdy};

/// The specification's constraints on the device groups of an op, with its labels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupsRule {
    /// The attribute with the groups.
    pub attribute: &'static str,
    /// The meaning of the ids.
    pub mode: IdMode,
    /// Labels of the constraints of uniqueness, coverage and range.
    pub labels: [&'static str; 3],
    /// Whether every device must be in a group.
    pub cover: bool,
    /// The label of the constraint that all groups have the same size, if it applies.
    pub even: Option<&'static str>,
    /// Whether they are the (source, target) pairs of a permute; with the constraints that no device sends or receives
    /// twice.
    pub pairs: bool,
}

impl GroupsRule {
    /// Creates the rule for groups in `attribute` that must cover all devices, with the labels of uniqueness, coverage,
    /// range.
    pub fn covering(attribute: &'static str, mode: IdMode, labels: [&'static str; 3]) -> Self {
        Self { attribute, mode, labels, cover: true, even: None, pairs: false }
    }

    /// Returns the op's groups, on the devices that the module declares.
    pub fn groups(&self, op: OpRef<'_>) -> Option<Groups> {
        self.groups_on(op, func::num_replicas(op.program), func::num_partitions(op.program))
    }

    /// Returns the op's groups, on these devices.
    pub fn groups_on(&self, op: OpRef<'_>, replicas: i64, partitions: i64) -> Option<Groups> {
        let rows = match rows(op.program, op.attr_id(self.attribute)?)? {
            Rows::All if self.pairs => Rows::no_pairs(),
            rows => rows,
        };
        Some(Groups::new(rows, self.mode, replicas, partitions))
    }

    /// Returns the violated constraints. In lists every id is checked; groups along axes are checked without listing
    /// ids.
    pub fn problems(&self, op: OpRef<'_>) -> Vec<Problem> {
        let mut problems = Vec::new();
        match self.groups(op) {
            Some(groups) if self.pairs => self.check_pairs(op, &groups, &mut problems),
            Some(groups) => {
                self.check(op, &groups, &mut problems);
                if let Some(label) = self.even
                    && let Rows::Lists(_) = groups.rows()
                    && (0..groups.rows().count()).any(|row| groups.rows().row(row).count() != groups.rows().width())
                {
                    problems.push(Problem::new(format!(
                        "all groups must have the same size, but some are padded with -1 ({label})"
                    )));
                }
            }
            None => problems.extend(self.unreadable(op)),
        }
        problems
    }

    /// Returns why the groups can't be read.
    fn unreadable(&self, op: OpRef<'_>) -> Option<Problem> {
        if self.pairs {
            if op.attr_id(self.attribute).is_some_and(|a| is_compact(op.program, a)) {
                let problem = Problem::new(
                    "source_target_pairs names an undefined mesh, undefined or overlapping axes, or places outside of \
                    them",
                );
                return Some(problem.note(
                    "name each axis of the mesh at most once, as many sources as targets, and places within the axes",
                ));
            }
            let problem = Problem::new("source_target_pairs must be a tensor of integers of rank 2 (C1)");
            return Some(problem.note("write source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"));
        }
        if !op.attr_id(self.attribute).is_some_and(|a| is_along_axes(op.program, a)) {
            if !self.cover {
                return Some(Problem::new("replica_groups must be a tensor of integers of rank 2 (I2)"));
            }
            let problem = Problem::new("replica_groups must be a tensor of integers of rank 2");
            return Some(problem.note("write replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"));
        }
        // Only Shardy's meshes are checked further.
        let AttrData::Symbol(mesh) = op.field(self.attribute, "mesh")? else { return None };
        let there = |&o: &Op| func::symbol(op.program, o) == Some(mesh);
        if !op.program.block_ops(op.program.body()).iter().any(there) {
            let problem = Problem::new(format!("mesh @{mesh} is undefined"));
            return Some(problem.note("define it: sdy.mesh @mesh = <[\"x\"=2]>"));
        }
        sdy::mesh_named(op.program, mesh)?;
        let problem = Problem::new(format!("the groups are not along axes of @{mesh}"));
        Some(problem.note("write axes = [#stablehlo.axis_ref<name = \"x\">], or a part: sub_axis_info = (1)2"))
    }

    /// Checks that ids are unique and in range, and that they cover all devices if the rule requires it.
    fn check(&self, op: OpRef<'_>, groups: &Groups, problems: &mut Vec<Problem>) {
        let rows = groups.rows();
        let twice = |id: i64| {
            let problem = Problem::new(format!("device id {id} is in the groups twice ({})", self.labels[0]));
            problem.note("every device belongs to one group")
        };
        // Axes that don't overlap contain every device of their mesh once.
        let (named, ids) = if let Rows::Axes(axes) = rows {
            problems.extend(axes.mesh().misplaced_device().map(twice));
            (axes.ids(), HashSet::new())
        } else {
            let mut seen = HashSet::new();
            for id in (0..rows.count()).flat_map(|row| rows.row(row)) {
                if id < 0 {
                    let label = self.labels[2];
                    problems.push(Problem::new(format!("device id {id} in the groups is negative ({label})")));
                }
                if !seen.insert(id) {
                    problems.push(twice(id));
                }
            }
            (seen.len() as i64, seen)
        };
        // A module that declares no devices may run on any number.
        let Some((replicas, partitions)) = func::declared_devices(op.program) else {
            let missing = (0..ids.len() as i64).find(|id| !ids.contains(id));
            if let Some(id) = missing.filter(|_| self.cover && problems.is_empty()) {
                let problem = Problem::new(format!("device id {id} is in no group ({})", self.labels[1]));
                problems.push(problem.note("every device belongs to one group"));
            }
            return;
        };
        let count = groups.ids();
        let beyond = match rows {
            Rows::Axes(_) => Some(count).filter(|_| named > count),
            _ => ids.iter().copied().filter(|&id| id >= count).min(),
        };
        if let Some(id) = beyond {
            let label = self.labels[2];
            let message = format!("the groups name device id {id}, but there are {count} devices ({label})");
            problems.push(Problem::new(message).note(self.counted(replicas, partitions)));
        } else if self.cover && rows.count() > 0 && named < count {
            let message = format!("the groups name {named} of {count} devices ({})", self.labels[1]);
            problems.push(Problem::new(message).note(self.counted(replicas, partitions)));
        }
    }

    /// Checks that no device sends or receives twice and that all devices exist.
    fn check_pairs(&self, op: OpRef<'_>, pairs: &Groups, problems: &mut Vec<Problem>) {
        let rows = pairs.rows();
        let even = |row: usize| rows.row(row).count() == 2;
        if rows.count() > 0 && (rows.width() != 2 || matches!(rows, Rows::Lists(_)) && !(0..rows.count()).all(even)) {
            let message = format!(
                "expected source_target_pairs to have rows of two devices, found rows of {} (C1)",
                rows.width()
            );
            return problems.push(Problem::new(message));
        }
        // By construction no device of the mesh sends or receives twice.
        let mesh = match rows {
            Rows::Permutation(permutation) => Some(permutation.mesh()),
            Rows::Pairs(pairs) => Some(pairs.mesh()),
            _ => None,
        };
        if let Some(mesh) = mesh {
            // A module that declares no devices may run on any number.
            if func::declared_devices(op.program).is_some() && mesh.devices() > pairs.ids() {
                let message = format!("the groups name device id {0}, but there are {0} devices (C4)", pairs.ids());
                problems.push(Problem::new(message));
            }
            return;
        }
        let side = |side: usize| (0..rows.count()).filter_map(move |row| rows.row(row).nth(side));
        for (at, what, label) in [(0, "sends", "C2"), (1, "receives", "C3")] {
            let mut ids: Vec<i64> = side(at).collect();
            ids.sort_unstable();
            for twice in ids.windows(2).filter(|w| w[0] == w[1]) {
                problems.push(Problem::new(format!("device {} {what} twice ({label})", twice[0])));
            }
        }
        // A device may be both source and target, so each column is checked separately.
        for at in 0..2 {
            let ids: Vec<Vec<i64>> = side(at).map(|id| vec![id]).collect();
            let alone = pairs.with_rows(Rows::of_lists(&ids));
            let mut found = Vec::new();
            let rule = Self { labels: ["C2", "C4", "C4"], cover: false, ..*self };
            rule.check(op, &alone, &mut found);
            problems.extend(found.into_iter().filter(|p| p.message.ends_with("(C4)")));
        }
    }

    /// Returns the valid ids in words.
    fn counted(&self, replicas: i64, partitions: i64) -> String {
        let ids = match self.mode {
            IdMode::CrossReplica => "without a channel the ids are replicas",
            IdMode::CrossReplicaAndPartition => "without use_global_device_ids the ids are replicas",
            IdMode::CrossPartition => "with a channel the ids are partitions",
            IdMode::Flattened => "with use_global_device_ids the ids are replica * partitions + partition",
        };
        format!("{ids}; the module has {replicas} replicas and {partitions} partitions")
    }
}
