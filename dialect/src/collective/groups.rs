//! The groups of devices that take part together in a collective.
//!
//! Groups made by the compiler are stored as axes of a mesh, and stay that small for any number of devices: members, a
//! device's place and partners are computed by arithmetic on positions. A user's lists stay lists.

use std::sync::Arc;

use super::axes::{AxisGroups, AxisPairs, AxisPermutation};
use crate::literal::Literal;
use crate::sharding::{AxisPart, MAX_DEVICES, Mesh};

/// The meaning of the ids in groups. Source: the StableHLO specification, "Collective ops".
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdMode {
    /// Ids are replicas; every partition has its own groups.
    CrossReplica,
    /// Ids are partitions; every replica has its own groups.
    CrossPartition,
    /// Ids are replicas; all their partitions are in the group.
    CrossReplicaAndPartition,
    /// Ids are flat: replica * partitions + partition.
    Flattened,
}

/// Groups as written: rows of ids.
#[derive(Clone, Debug)]
pub enum Rows {
    /// No row: one group of all ids.
    All,
    /// The rows of a tensor of integers, padded with -1; pairs of a permute have two columns.
    Lists(Lists),
    /// Ids that differ only in some axes of a mesh.
    Axes(Arc<AxisGroups>),
    /// Pairs that move shards from their devices under some axes of a mesh to those under others.
    Permutation(Arc<AxisPermutation>),
    /// The same pairs of places within every group along some axes of a mesh.
    Pairs(Arc<AxisPairs>),
}

/// A tensor of rank 2 of ids.
#[derive(Clone, Debug)]
pub struct Lists {
    ids: Literal,
    width: usize,
}

impl Lists {
    /// Returns the rows of `ids`; `None` unless it has rank 2, isn't empty, and isn't larger than valid groups can be.
    pub fn new(ids: Literal) -> Option<Self> {
        let [_, width] = ids.shape[..] else { return None };
        // A splat can claim any shape without using memory.
        let fits = !ids.is_empty() && ids.len() as i64 <= 4 * MAX_DEVICES && ids.get(0).as_i64().is_some();
        fits.then_some(Self { ids, width: width.max(1) as usize })
    }

    fn count(&self) -> usize {
        self.ids.len() / self.width
    }

    fn id(&self, row: usize, at: usize) -> i64 {
        self.ids.get(row * self.width + at).as_i64().unwrap_or(-1)
    }
}

impl Rows {
    /// Returns the rows of explicit lists, with shorter ones padded.
    pub fn of_lists(lists: &[Vec<i64>]) -> Self {
        Lists::new(super::attribute::literal_of(lists)).map_or(Rows::All, Rows::Lists)
    }

    /// Returns the pairs of a permute that sends nothing.
    pub fn no_pairs() -> Self {
        Rows::Lists(Lists { ids: super::attribute::literal_of(&[]), width: 2 })
    }

    /// Returns the number of rows.
    pub fn count(&self) -> usize {
        match self {
            Rows::All => 0,
            Rows::Lists(lists) => lists.count(),
            Rows::Axes(axes) => axes.count(),
            Rows::Permutation(permutation) => permutation.count(),
            Rows::Pairs(pairs) => pairs.count(),
        }
    }

    /// Returns the length of a row, padding included.
    pub fn width(&self) -> usize {
        match self {
            Rows::All => 0,
            Rows::Lists(lists) => lists.width,
            Rows::Axes(axes) => axes.size(),
            Rows::Permutation(_) | Rows::Pairs(_) => 2,
        }
    }

    /// Returns the ids of a row, without padding.
    pub fn row(&self, row: usize) -> impl Iterator<Item = i64> + '_ {
        let id = move |at| match self {
            Rows::All => -1,
            Rows::Lists(lists) => lists.id(row, at),
            Rows::Axes(axes) => axes.id(row, at),
            Rows::Permutation(permutation) => {
                let source = row as i64;
                if at == 0 { source } else { permutation.target(source) }
            }
            Rows::Pairs(pairs) => pairs.pair(row).map_or(-1, |p| if at == 0 { p.0 } else { p.1 }),
        };
        (0..self.width()).map(id).filter(|&id| id != -1)
    }

    /// Returns the row that contains an id, and its place there, without padding. For pairs, returns the pair whose
    /// source it is.
    fn place(&self, id: i64) -> Option<(usize, usize)> {
        match self {
            Rows::Axes(axes) => axes.place(id),
            Rows::Permutation(permutation) => permutation.has(id).then_some((id as usize, 0)),
            Rows::Pairs(pairs) => Some((pairs.row_of(id)?, 0)),
            _ => (0..self.count()).find_map(|row| Some((row, self.row(row).position(|i| i == id)?))),
        }
    }

    /// Returns the first id of the pair whose second is `id`.
    fn source(&self, id: i64) -> Option<i64> {
        match self {
            Rows::Permutation(permutation) => permutation.has(id).then(|| permutation.source(id)),
            Rows::Pairs(pairs) => pairs.source(id),
            _ => (0..self.count()).find_map(|row| self.pair(row).filter(|p| p.1 == id).map(|p| p.0)),
        }
    }

    /// Returns the second id of the pair whose first is `id`.
    fn target(&self, id: i64) -> Option<i64> {
        match self {
            Rows::Permutation(permutation) => permutation.has(id).then(|| permutation.target(id)),
            Rows::Pairs(pairs) => pairs.target(id),
            _ => (0..self.count()).find_map(|row| self.pair(row).filter(|p| p.0 == id).map(|p| p.1)),
        }
    }

    fn pair(&self, row: usize) -> Option<(i64, i64)> {
        let mut ids = self.row(row);
        Some((ids.next()?, ids.next()?))
    }
}

/// The groups of a collective, by flat device ids. Lists are created only on demand.
#[derive(Clone, Debug)]
pub struct Groups {
    rows: Rows,
    mode: IdMode,
    replicas: i64,
    partitions: i64,
}

impl Groups {
    /// Creates groups from `rows` of ids with this mode, on this many replicas and partitions.
    pub fn new(rows: Rows, mode: IdMode, replicas: i64, partitions: i64) -> Self {
        Self { rows, mode, replicas, partitions }
    }

    /// Creates groups from lists of flat device ids.
    pub fn of_lists(lists: &[Vec<i64>]) -> Self {
        Self::new(Rows::of_lists(lists), IdMode::Flattened, 1, 1)
    }

    /// Returns the groups as written.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Replaces the rows, with the same id mode and devices.
    pub(super) fn with_rows(&self, rows: Rows) -> Self {
        Self { rows, ..*self }
    }

    /// Returns the number of devices in a group by its row's length, padding included: `dim(process_groups, 1)`.
    pub fn padded_size(&self) -> i64 {
        let row = if matches!(self.rows, Rows::All) { self.ids() } else { self.rows.width() as i64 };
        if self.mode == IdMode::CrossReplicaAndPartition { row.saturating_mul(self.partitions) } else { row }
    }

    /// Returns the meaning of the ids.
    pub fn mode(&self) -> IdMode {
        self.mode
    }

    /// Returns the number of valid ids.
    pub fn ids(&self) -> i64 {
        match self.mode {
            IdMode::CrossReplica | IdMode::CrossReplicaAndPartition => self.replicas,
            IdMode::CrossPartition => self.partitions,
            IdMode::Flattened => self.replicas.saturating_mul(self.partitions),
        }
    }

    /// Returns the number of groups; 0 on more than [`MAX_DEVICES`] devices.
    pub fn count(&self) -> usize {
        if self.replicas.saturating_mul(self.partitions) > MAX_DEVICES {
            return 0;
        }
        let rows = if matches!(self.rows, Rows::All) { 1 } else { self.rows.count() };
        rows * self.copies() as usize
    }

    /// Returns the number of groups per row.
    fn copies(&self) -> i64 {
        match self.mode {
            IdMode::CrossReplica => self.partitions.max(0),
            IdMode::CrossPartition => self.replicas.max(0),
            IdMode::CrossReplicaAndPartition | IdMode::Flattened => 1,
        }
    }

    /// Returns the number of devices in the first group, and in every group if there is no padding; 0 without groups.
    pub fn size(&self) -> usize {
        if self.count() == 0 {
            return 0;
        }
        match &self.rows {
            Rows::Axes(axes) if self.mode != IdMode::CrossReplicaAndPartition => axes.size(),
            _ => self.group(0).count(),
        }
    }

    // Ids may be out of range until they are checked.
    fn device(&self, replica: i64, partition: i64) -> i64 {
        replica.saturating_mul(self.partitions).saturating_add(partition)
    }

    /// Returns the devices of a group, in order; for a permute, source and target of a pair.
    pub fn group(&self, group: usize) -> impl Iterator<Item = i64> + '_ {
        let copies = self.copies().max(1) as usize;
        let (row, copy) = (group / copies, (group % copies) as i64);
        let runs = if self.mode == IdMode::CrossReplicaAndPartition { self.partitions } else { 1 };
        let all = if matches!(self.rows, Rows::All) { self.ids() } else { 0 };
        (0..runs).flat_map(move |run| {
            let ids = (0..all).chain(self.rows.row(row));
            ids.map(move |id| match self.mode {
                IdMode::CrossReplica => self.device(id, copy),
                IdMode::CrossPartition => self.device(copy, id),
                IdMode::CrossReplicaAndPartition => self.device(id, run),
                IdMode::Flattened => id,
            })
        })
    }

    /// Returns all groups, each as its devices.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = i64> + '_> + '_ {
        (0..self.count()).map(|g| self.group(g))
    }

    /// Returns all groups as lists.
    pub fn lists(&self) -> Vec<Vec<i64>> {
        self.iter().map(Iterator::collect).collect()
    }

    /// Returns the (source, target) pairs of a permute.
    pub fn pairs(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.iter().filter_map(|mut pair| Some((pair.next()?, pair.next()?)))
    }

    /// Returns the group of a device, and its place there; `None` if it takes no part.
    pub fn place(&self, device: i64) -> Option<(usize, usize)> {
        if self.count() == 0 || device < 0 {
            return None;
        }
        let partitions = self.partitions.max(1);
        let (replica, partition) = (device / partitions, device % partitions);
        let (id, copy) = match self.mode {
            IdMode::CrossReplica => (replica, partition),
            IdMode::CrossPartition => (partition, replica),
            IdMode::CrossReplicaAndPartition => (replica, 0),
            IdMode::Flattened => (device, 0),
        };
        let (row, at) = match self.rows {
            Rows::All => (id < self.ids()).then_some((0, id as usize))?,
            _ => self.rows.place(id)?,
        };
        if copy >= self.copies() {
            return None;
        }
        let group = row * self.copies() as usize + copy as usize;
        let before = match self.mode {
            IdMode::CrossReplicaAndPartition => self.group(group).count() / partitions as usize * partition as usize,
            _ => 0,
        };
        Some((group, before + at))
    }

    /// Returns the device from which a permute sends a value to `device`.
    pub fn source(&self, device: i64) -> Option<i64> {
        self.partner(device, |id| self.rows.source(id))
    }

    /// Returns the device to which a permute sends the value of `device`.
    pub fn target(&self, device: i64) -> Option<i64> {
        self.partner(device, |id| self.rows.target(id))
    }

    fn partner(&self, device: i64, of: impl Fn(i64) -> Option<i64>) -> Option<i64> {
        let partitions = self.partitions.max(1);
        let (replica, partition) = (device / partitions, device % partitions);
        match self.mode {
            _ if self.count() == 0 || device < 0 => None,
            IdMode::CrossReplica => Some(self.device(of(replica)?, partition)),
            IdMode::CrossPartition if replica >= self.replicas => None,
            IdMode::CrossPartition => Some(self.device(replica, of(partition)?)),
            IdMode::CrossReplicaAndPartition | IdMode::Flattened => of(device),
        }
    }

    /// Returns the axes along which the devices of a group differ, if groups are along axes and every replica has its
    /// own copy of the mesh.
    pub fn axes(&self) -> Option<&AxisGroups> {
        match (&self.rows, self.mode) {
            (Rows::Axes(axes), IdMode::CrossPartition | IdMode::Flattened) => Some(axes),
            _ => None,
        }
    }

    /// Returns these axes as axes of `mesh`, if the groups are along its axes, as all groups are that the compiler
    /// writes.
    pub fn axes_of(&self, mesh: &Mesh) -> Option<&[AxisPart]> {
        let along = self.axes()?;
        let same = along.mesh().sizes().eq(mesh.axes.iter().map(|a| a.1))
            && along.mesh().is_reordered() == mesh.device_ids.is_some();
        same.then(|| along.axes())
    }

    /// Returns whether the groups are lists, in which finding a device takes a search.
    pub fn are_lists(&self) -> bool {
        matches!(self.rows, Rows::Lists(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(rows: &[&[i64]], mode: IdMode, grid: (i64, i64)) -> Groups {
        let rows: Vec<Vec<i64>> = rows.iter().map(|r| r.to_vec()).collect();
        Groups::new(Rows::of_lists(&rows), mode, grid.0, grid.1)
    }

    /// Checks that computed places equal those in the lists.
    fn check(groups: &Groups) {
        let lists = groups.lists();
        for (g, list) in lists.iter().enumerate() {
            for (i, &device) in list.iter().enumerate() {
                assert_eq!(groups.place(device), Some((g, i)), "{groups:?}");
            }
        }
        assert_eq!(groups.place(1 + lists.iter().flatten().max().copied().unwrap_or(0)), None);
    }

    #[test]
    fn reads_groups_as_the_specification_does() {
        let all = |mode| groups(&[&[0, 1], &[2, 3]], mode, (4, 2));
        assert_eq!(all(IdMode::CrossReplica).lists(), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(all(IdMode::CrossReplicaAndPartition).lists(), [[0, 2, 1, 3], [4, 6, 5, 7]]);
        assert_eq!(all(IdMode::Flattened).lists(), [[0, 1], [2, 3]]);
        let partitions = groups(&[&[0, 1]], IdMode::CrossPartition, (4, 2));
        assert_eq!(partitions.lists(), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        let modes = [IdMode::CrossReplica, IdMode::CrossReplicaAndPartition, IdMode::Flattened];
        modes.map(all).iter().chain([&partitions]).for_each(check);
    }

    #[test]
    fn no_rows_are_one_group_of_all() {
        assert_eq!(groups(&[], IdMode::Flattened, (2, 2)).lists(), [[0, 1, 2, 3]]);
        assert_eq!(groups(&[], IdMode::CrossReplica, (2, 2)).lists(), [[0, 2], [1, 3]]);
        let both = groups(&[], IdMode::CrossReplicaAndPartition, (2, 3));
        assert_eq!(both.size(), 6);
        check(&both);
    }

    #[test]
    fn padding_is_no_device() {
        let uneven = groups(&[&[0, 1, 3], &[2]], IdMode::Flattened, (1, 4));
        assert_eq!(uneven.lists(), [vec![0, 1, 3], vec![2]]);
        assert_eq!(uneven.rows().width(), 3);
        check(&uneven);
    }

    #[test]
    fn partners_of_a_permute() {
        let pairs = groups(&[&[0, 1], &[1, 2]], IdMode::CrossPartition, (2, 3));
        assert_eq!(pairs.pairs().collect::<Vec<_>>(), [(0, 1), (3, 4), (1, 2), (4, 5)]);
        let sources: Vec<Option<i64>> = (0..6).map(|d| pairs.source(d)).collect();
        assert_eq!(sources, [None, Some(0), Some(1), None, Some(3), Some(4)]);
    }

    #[test]
    fn too_many_devices_have_no_groups() {
        assert_eq!(groups(&[], IdMode::Flattened, (MAX_DEVICES, 2)).count(), 0);
    }
}
