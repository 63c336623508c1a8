//! Groups along axes of a mesh, computed by arithmetic on positions.

use std::sync::OnceLock;

use crate::ir::Name;
use crate::literal::Literal;
use crate::sharding::{Axes, AxisPart, Digit, Mesh, Pairs, digits, index, position, unused};

/// The mesh of groups: axis names, sizes and the order of its devices.
#[derive(Debug)]
pub struct GroupMesh {
    names: Vec<Box<str>>,
    /// The axes, named by their numbers.
    mesh: Mesh,
    /// The device at each row-major position; `None` means 0, 1, 2, …
    order: Option<Literal>,
    /// The position of each device.
    positions: OnceLock<Vec<i64>>,
}

impl GroupMesh {
    /// Returns a mesh of these axes; `None` if a size isn't positive, the mesh is too large, or the order has another
    /// size.
    pub fn new(axes: Vec<(Box<str>, i64)>, order: Option<Literal>) -> Option<Self> {
        let numbered = axes.iter().enumerate().map(|(i, a)| (Name::new(i), a.1)).collect();
        let mesh = Mesh { axes: numbered, device_ids: None };
        let sizes = mesh.axes.iter().all(|a| a.1 > 0) && mesh.devices() <= crate::sharding::MAX_DEVICES;
        let ordered = order.as_ref().is_none_or(|ids| ids.len() as i64 == mesh.devices());
        let names = axes.into_iter().map(|a| a.0).collect();
        (sizes && ordered).then_some(Self { names, mesh, order, positions: OnceLock::new() })
    }

    /// Returns the number of devices.
    pub fn devices(&self) -> i64 {
        self.mesh.devices()
    }

    /// Returns the sizes of the axes, major first.
    pub fn sizes(&self) -> impl Iterator<Item = i64> + '_ {
        self.mesh.axes.iter().map(|a| a.1)
    }

    /// Returns the names of the axes, major first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|n| &**n)
    }

    /// Returns the axis of that name, or its part `part`, `(pre, size)`.
    pub fn axis(&self, name: &str, part: Option<(i64, i64)>) -> Option<AxisPart> {
        let axis = self.names.iter().position(|n| **n == *name)?;
        let full = self.mesh.axes[axis].1;
        let (pre, size) = part.unwrap_or((1, full));
        let fits = pre > 0 && size > 0 && pre.checked_mul(size).is_some_and(|end| full % end == 0);
        // Parts of an axis are no larger than the largest mesh.
        fits.then_some(AxisPart { axis: axis as u32, pre: pre as u32, size: size as u32 })
    }

    /// Returns whether the devices are in another order than 0, 1, 2, …
    pub fn is_reordered(&self) -> bool {
        self.order.is_some()
    }

    /// Returns the device at row-major position `at`.
    pub fn device(&self, at: i64) -> i64 {
        let given =
            |ids: &Literal| usize::try_from(at).ok().filter(|&i| i < ids.len()).and_then(|i| ids.get(i).as_i64());
        self.order.as_ref().and_then(given).unwrap_or(at)
    }

    /// Returns the row-major position of a device.
    pub fn position(&self, device: i64) -> i64 {
        if self.order.is_none() {
            return device;
        }
        let positions = self.positions.get_or_init(|| {
            let mut positions = vec![0; self.devices() as usize];
            for at in 0..self.devices() {
                if let Some(p) = usize::try_from(self.device(at)).ok().and_then(|d| positions.get_mut(d)) {
                    *p = at;
                }
            }
            positions
        });
        usize::try_from(device).ok().and_then(|d| positions.get(d)).copied().unwrap_or(0)
    }

    /// Returns a device that the order lists twice or that doesn't exist.
    pub fn misplaced_device(&self) -> Option<i64> {
        self.order.as_ref()?;
        let mut seen = vec![false; self.devices() as usize];
        (0..self.devices()).map(|at| self.device(at)).find(|&device| {
            let slot = usize::try_from(device).ok().and_then(|d| seen.get_mut(d));
            slot.is_none_or(|seen| std::mem::replace(seen, true))
        })
    }
}

/// Groups of devices that differ only in some axes, in the order of those axes, major first; the same in each of
/// several replicas of the mesh.
#[derive(Debug)]
pub struct AxisGroups {
    mesh: GroupMesh,
    axes: Axes,
    replicas: i64,
    inside: Vec<Digit>,
    outside: Vec<Digit>,
}

fn size(digits: &[Digit]) -> i64 {
    digits.iter().map(|d| d.size).product()
}

impl AxisGroups {
    /// Returns groups along `axes` of `mesh`; `None` if `axes` overlap.
    pub fn new(mesh: GroupMesh, axes: Axes, replicas: i64) -> Option<Self> {
        let inside = digits(&mesh.mesh, &axes);
        let outside = unused(&mesh.mesh, &inside)?;
        (replicas > 0).then_some(Self { mesh, axes, replicas, inside, outside })
    }

    /// Returns the mesh.
    pub fn mesh(&self) -> &GroupMesh {
        &self.mesh
    }

    /// Returns the axes, major first.
    pub fn axes(&self) -> &[AxisPart] {
        &self.axes
    }

    /// Returns the number of devices in a group.
    pub fn size(&self) -> usize {
        size(&self.inside) as usize
    }

    /// Returns the number of groups.
    pub fn count(&self) -> usize {
        (size(&self.outside) * self.replicas) as usize
    }

    /// Returns the number of ids; each is in a group.
    pub fn ids(&self) -> i64 {
        self.mesh.devices().saturating_mul(self.replicas)
    }

    /// Returns the number of replicas of the mesh that the ids cover.
    pub fn replicas(&self) -> i64 {
        self.replicas
    }

    /// Returns the id at place `at` of a group.
    pub(super) fn id(&self, group: usize, at: usize) -> i64 {
        let each = size(&self.outside);
        let (replica, group) = (group as i64 / each, group as i64 % each);
        let at = position(&self.outside, group) + position(&self.inside, at as i64);
        replica * self.mesh.devices() + self.mesh.device(at)
    }

    /// Returns the group of an id and its place there.
    pub(super) fn place(&self, id: i64) -> Option<(usize, usize)> {
        if !(0..self.ids()).contains(&id) {
            return None;
        }
        let devices = self.mesh.devices();
        let at = self.mesh.position(id % devices);
        let group = id / devices * size(&self.outside) + index(&self.outside, at);
        Some((group as usize, index(&self.inside, at) as usize))
    }
}

/// A permutation that moves every shard of a value from its device under some axes to its device under others: one pair
/// per device.
#[derive(Debug)]
pub struct AxisPermutation {
    mesh: GroupMesh,
    /// The digits of all dimensions' axes in order, and the remaining digits.
    from: [Vec<Digit>; 2],
    to: [Vec<Digit>; 2],
    /// The digits of a target's number that are shifted, and the shift, cyclically.
    shift: (Vec<Digit>, i64),
}

/// Returns the position whose `to` digits equal the `from` digits of `at`.
fn moved(at: i64, from: &[Vec<Digit>; 2], to: &[Vec<Digit>; 2]) -> i64 {
    (0..2).map(|i| position(&to[i], index(&from[i], at))).sum()
}

impl AxisPermutation {
    /// Returns the permutation from a value sharded along `from` (all dimensions' axes in order) to one sharded along
    /// `to`; `None` if these have different numbers of shards or axes overlap.
    pub fn new(mesh: GroupMesh, from: &[AxisPart], to: &[AxisPart]) -> Option<Self> {
        let split = |axes: &[AxisPart]| {
            let inside = digits(&mesh.mesh, axes);
            let outside = unused(&mesh.mesh, &inside)?;
            Some([inside, outside])
        };
        let (from, to) = (split(from)?, split(to)?);
        (size(&from[0]) == size(&to[0])).then_some(Self { mesh, from, to, shift: (Vec::new(), 0) })
    }

    /// Shifts each target's place along `axes`, which are axes after the move, by `by`, cyclically; `None` if axes
    /// overlap.
    pub fn shifted(self, axes: &[AxisPart], by: i64) -> Option<Self> {
        let digits = digits(&self.mesh.mesh, axes);
        unused(&self.mesh.mesh, &digits)?;
        let by = by.rem_euclid(size(&digits));
        Some(Self { shift: (digits, by), ..self })
    }

    /// Returns `at` moved by `by` along the shifted axes.
    fn shift(&self, at: i64, by: i64) -> i64 {
        let (digits, n) = (&self.shift.0, size(&self.shift.0));
        let place = index(digits, at);
        at - position(digits, place) + position(digits, (place + by).rem_euclid(n))
    }

    /// Returns the mesh.
    pub fn mesh(&self) -> &GroupMesh {
        &self.mesh
    }

    pub(super) fn count(&self) -> usize {
        self.mesh.devices() as usize
    }

    pub(super) fn has(&self, device: i64) -> bool {
        (0..self.mesh.devices()).contains(&device)
    }

    /// Returns the device to which `source` sends.
    pub(super) fn target(&self, source: i64) -> i64 {
        let at = moved(self.mesh.position(source), &self.from, &self.to);
        self.mesh.device(self.shift(at, self.shift.1))
    }

    /// Returns the device that sends to `target`.
    pub(super) fn source(&self, target: i64) -> i64 {
        let at = self.shift(self.mesh.position(target), -self.shift.1);
        self.mesh.device(moved(at, &self.to, &self.from))
    }
}

/// The same pairs of places within every group along some axes of a mesh.
#[derive(Debug)]
pub struct AxisPairs {
    groups: AxisGroups,
    pairs: Pairs,
}

impl AxisPairs {
    /// Creates `pairs` within each of `groups`, whose size they were checked against.
    pub(super) fn new(groups: AxisGroups, pairs: Pairs) -> Self {
        Self { groups, pairs }
    }

    /// Returns the mesh.
    pub fn mesh(&self) -> &GroupMesh {
        self.groups.mesh()
    }

    pub(super) fn count(&self) -> usize {
        self.groups.count() * self.pairs.len()
    }

    /// Returns source and target of a pair: those of the first group, then those of the second, …
    pub(super) fn pair(&self, row: usize) -> Option<(i64, i64)> {
        let group = row / self.pairs.len();
        let (source, target) = self.pairs.get(row % self.pairs.len())?;
        Some((self.groups.id(group, source as usize), self.groups.id(group, target as usize)))
    }

    /// Returns the pair whose source is `id`.
    pub(super) fn row_of(&self, id: i64) -> Option<usize> {
        let (group, at) = self.groups.place(id)?;
        Some(group * self.pairs.len() + self.pairs.index(at as i64)?)
    }

    /// Returns the device to which `source` sends.
    pub(super) fn target(&self, source: i64) -> Option<i64> {
        let (group, at) = self.groups.place(source)?;
        Some(self.groups.id(group, self.pairs.target(at as i64)? as usize))
    }

    /// Returns the device that sends to `target`.
    pub(super) fn source(&self, target: i64) -> Option<i64> {
        let (group, at) = self.groups.place(target)?;
        Some(self.groups.id(group, self.pairs.source(at as i64)? as usize))
    }
}
