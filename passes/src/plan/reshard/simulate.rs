//! A lockstep simulation of redistribution steps, to verify sequences and rewrites: every device's shard of a value is
//! a small dense array of integers, so that every order of summation is exact.
//!
//! Each step only uses data that the devices of its groups hold; a step that would need more fails.

use std::collections::{BTreeMap, BTreeSet};

use dialect::sharding::axis::size_of;
use dialect::sharding::{Axes, AxisPart, Distribution, MeshAxes, ReductionKind, Reshard};

use super::step::Step;

/// A value on all devices: `pieces[device]` in row-major order, padded where a dimension doesn't divide.
#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    pub(crate) shape: Vec<i64>,
    pub(crate) at: Distribution,
    pub(crate) pieces: Vec<Vec<i64>>,
}

/// Returns the coordinate of `device` along `part`.
pub(crate) fn digit(mesh_axes: &MeshAxes, device: usize, part: AxisPart) -> usize {
    let sizes: Vec<usize> = mesh_axes.data.axes.iter().map(|a| a.1 as usize).collect();
    let minor: usize = sizes[part.axis as usize + 1..].iter().product();
    let coordinate = device / minor % sizes[part.axis as usize];
    coordinate / (sizes[part.axis as usize] / part.end() as usize) % part.size as usize
}

/// Returns the coordinate along several parts, major first.
pub(crate) fn digits(mesh_axes: &MeshAxes, device: usize, parts: &[AxisPart]) -> usize {
    parts.iter().fold(0, |n, &p| n * p.size as usize + digit(mesh_axes, device, p))
}

/// Returns the coordinates of `device` with those along `except` set to 0.
fn other_digits(mesh_axes: &MeshAxes, device: usize, except: &[AxisPart]) -> Vec<usize> {
    let mut key: Vec<usize> = (0..mesh_axes.len()).map(|a| digit(mesh_axes, device, mesh_axes.whole(a))).collect();
    for &part in except {
        let rest = mesh_axes.whole(part.axis as usize).size / part.end();
        key[part.axis as usize] -= digit(mesh_axes, device, part) * rest as usize;
    }
    key
}

/// Returns the start and size of a device's shard in each dimension.
pub(crate) fn tile(mesh_axes: &MeshAxes, device: usize, at: &Distribution, shape: &[i64]) -> Vec<(i64, i64)> {
    let local = at.local_shape(shape);
    (0..shape.len()).map(|d| (digits(mesh_axes, device, &at.dims[d]) as i64 * local[d], local[d])).collect()
}

fn indices(tile: &[(i64, i64)]) -> Vec<Vec<i64>> {
    tile.iter().fold(vec![vec![]], |all, &(start, n)| {
        all.iter().flat_map(|i| (start..start + n).map(move |x| [&i[..], &[x]].concat())).collect()
    })
}

fn position(tile: &[(i64, i64)], index: &[i64]) -> Option<usize> {
    let mut at = 0;
    for (&(start, n), &i) in tile.iter().zip(index) {
        if i < start || i >= start + n {
            return None;
        }
        at = at * n as usize + (i - start) as usize;
    }
    Some(at)
}

pub(crate) fn combine(kind: ReductionKind, values: impl Iterator<Item = i64>) -> i64 {
    match kind {
        ReductionKind::Sum => values.sum(),
        ReductionKind::Max => values.max().unwrap_or(identity(kind)),
        ReductionKind::Min => values.min().unwrap_or(identity(kind)),
    }
}

pub(crate) fn identity(kind: ReductionKind) -> i64 {
    match kind {
        ReductionKind::Sum => 0,
        ReductionKind::Max => -1_000_000,
        ReductionKind::Min => 1_000_000,
    }
}

impl Pieces {
    /// Shards a value; along unreduced axes its elements are split into different partial results that combine to it.
    pub(crate) fn shard(mesh_axes: &MeshAxes, shape: &[i64], at: &Distribution, value: &dyn Fn(&[i64]) -> i64) -> Self {
        let n = size_of(&at.unreduced) as i64;
        let piece = |device: usize| {
            let part = digits(mesh_axes, device, &at.unreduced) as i64;
            let element = |i: &Vec<i64>| {
                if i.iter().zip(shape).any(|(i, n)| i >= n) {
                    return 777;
                }
                let v = value(i);
                match at.kind {
                    ReductionKind::Sum if part + 1 == n => v - (0..n - 1).map(|p| 3 * p + 1).sum::<i64>(),
                    ReductionKind::Sum => 3 * part + 1,
                    ReductionKind::Max => v - (part + v).rem_euclid(n),
                    ReductionKind::Min => v + (part + v).rem_euclid(n),
                }
            };
            indices(&tile(mesh_axes, device, at, shape)).iter().map(element).collect()
        };
        let pieces = (0..mesh_axes.devices()).map(piece).collect();
        Self { shape: shape.to_vec(), at: at.clone(), pieces }
    }

    /// Checks that it represents `value`: devices with the same shard agree, and partial results combine to it.
    pub(crate) fn check(&self, mesh_axes: &MeshAxes, value: &dyn Fn(&[i64]) -> i64) -> Result<(), String> {
        // Devices that differ only along unreduced axes hold partial results of one shard.
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for device in 0..mesh_axes.devices() {
            groups.entry(other_digits(mesh_axes, device, &self.at.unreduced)).or_default().push(device);
        }
        let mut seen = BTreeSet::new();
        for devices in groups.values() {
            let tile = tile(mesh_axes, devices[0], &self.at, &self.shape);
            for (i, index) in indices(&tile).into_iter().enumerate() {
                if index.iter().zip(&self.shape).any(|(i, n)| i >= n) {
                    continue;
                }
                let have = combine(self.at.kind, devices.iter().map(|&d| self.pieces[d][i]));
                if have != value(&index) {
                    return Err(format!("{have} instead of {} at {index:?}", value(&index)));
                }
                seen.insert(index);
            }
        }
        let all: i64 = self.shape.iter().product();
        if seen.len() as i64 == all { Ok(()) } else { Err(format!("{} of {all} elements", seen.len())) }
    }

    /// Returns the value after one step.
    pub(crate) fn step(&self, mesh_axes: &MeshAxes, step: &Step) -> Result<Self, String> {
        let axes: Axes = match &step.kind {
            Reshard::AllSlice(_) | Reshard::ReplicatedToUnreduced(..) | Reshard::ShardedToUnreduced(..) => Axes::new(),
            kind => kind.group_axes(&self.at, &step.to),
        };
        if let Ok(to) = step.kind.apply(&self.at)
            && to.dims != step.to.dims
        {
            return Err(format!("{:?} makes {to:?} of {:?}, not {:?}", step.kind, self.at, step.to));
        }
        let reduced: Axes = match &step.kind {
            Reshard::AllReduce(..) | Reshard::ReduceScatter(..) => step.kind.axes(),
            _ => Axes::new(),
        };
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for device in 0..mesh_axes.devices() {
            groups.entry(other_digits(mesh_axes, device, &axes)).or_default().push(device);
        }
        let tiles: Vec<_> = (0..mesh_axes.devices()).map(|d| tile(mesh_axes, d, &self.at, &self.shape)).collect();
        let mut senders = Vec::new();
        let mut pieces = Vec::new();
        for device in 0..mesh_axes.devices() {
            let want = tile(mesh_axes, device, &step.to, &self.shape);
            let group = &groups[&other_digits(mesh_axes, device, &axes)];
            let keeps = match &step.kind {
                Reshard::ReplicatedToUnreduced(parts, _) => digits(mesh_axes, device, parts) == 0,
                _ => true,
            };
            if step.kind == Reshard::CollectivePermute {
                // One full shard from one device; no device sends twice.
                let unreduced = digits(mesh_axes, device, &step.to.unreduced);
                let same = |&d: &usize| tiles[d] == want && digits(mesh_axes, d, &self.at.unreduced) == unreduced;
                let sender = group.iter().copied().filter(same).find(|d| !senders.contains(d));
                let sender = sender.ok_or_else(|| format!("no device sends device {device} its piece"))?;
                senders.push(sender);
                pieces.push(self.pieces[sender].clone());
                continue;
            }
            let element = |index: &Vec<i64>| {
                let padding = index.iter().zip(&self.shape).any(|(i, n)| i >= n);
                let held: Vec<i64> =
                    group.iter().filter_map(|&d| Some(self.pieces[d][position(&tiles[d], index)?])).collect();
                match held[..] {
                    _ if padding => Ok(777),
                    _ if !keeps => Ok(identity(step.to.kind)),
                    [] if matches!(step.kind, Reshard::ShardedToUnreduced(..)) => Ok(identity(step.to.kind)),
                    [] => Err(format!("device {device} can't get {index:?} in {:?}", step.kind)),
                    _ if !reduced.is_empty() => Ok(combine(self.at.kind, held.into_iter())),
                    [first, ..] => Ok(first),
                }
            };
            pieces.push(indices(&want).iter().map(element).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Self { shape: self.shape.clone(), at: step.to.clone(), pieces })
    }
}
