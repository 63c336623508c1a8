//! Groups whose places are listed: those given as lists of devices instead of mesh axes, as in replica groups, and
//! those of axes in a placement that lists its devices.

use super::{CHIPS, DIMS, Extent, Place, Placement, SLICES};
use crate::estimate::group::{Group, Line};
use dialect::sharding::AxisPart;
use smallvec::SmallVec;
use std::collections::BTreeMap;

impl Placement {
    /// Returns the group of a collective over these sub-axes in a placement that lists its devices. If the groups are
    /// alike boxes of chips, they have its lines; otherwise data goes around each in the mesh's order.
    pub(super) fn group_of_listed(&self, listed: &[Place], parts: &[AxisPart]) -> Group {
        // The devices of each group, by slice, each with its index in the group.
        let mut groups: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
        for device in 0..listed.len() as u64 {
            let (mut first, mut at) = (device, 0);
            for part in parts {
                let Some(&size) = self.axis_sizes.get(part.axis as usize) else { continue };
                let minor: u64 = self.axis_sizes[part.axis as usize + 1..].iter().product();
                let step = size / u64::from(part.end()).max(1);
                let digit = device / minor % size / step.max(1) % u64::from(part.size);
                first = first.saturating_sub(digit * step * minor);
                at = at * u64::from(part.size) + digit;
            }
            groups.entry(first).or_default().push((at, device));
        }
        let in_order = |mut group: Vec<(u64, u64)>| {
            group.sort_unstable();
            group.into_iter().map(|device| device.1).collect()
        };
        self.group_of_lists(&groups.into_values().map(in_order).collect::<Vec<_>>())
    }

    /// Returns the group of a collective in a placement that lists its devices, from the devices of all of its groups.
    pub(crate) fn group_of_lists(&self, groups: &[Vec<u64>]) -> Group {
        let mut slices: Vec<u64> = groups.first().into_iter().flatten().map(|&d| self.slice_of(d)).collect();
        slices.sort_unstable();
        slices.dedup();
        let across = self.switch(SLICES, slices.len() as u64, 1);
        let mut rings: Vec<Vec<u64>> = Vec::new();
        for group in groups {
            for &slice in &slices {
                rings.push(group.iter().copied().filter(|&d| self.slice_of(d) == slice).collect());
            }
        }
        rings.retain(|ring| !ring.is_empty());
        let size = rings.first().map_or(1, Vec::len) as u64;
        let mut boxes = rings.iter().map(|ring| self.extents(ring));
        let first = boxes.next().unwrap_or([Extent::NONE; DIMS]);
        if first.iter().map(|extent| extent.participants).product::<u64>() == size && boxes.all(|other| other == first)
        {
            let mut extents = first;
            extents[SLICES].participants = across.participants;
            return self.group_of_extents(size * across.participants, &extents);
        }
        let mut group = Group::of_size(size * across.participants);
        group.push(self.ring(&rings));
        group.set_switches(None, Some(across));
        group.set_reached(self.reached);
        group
    }

    fn slice_of(&self, device: u64) -> u64 {
        self.coordinates(device).map_or(0, |place| place[SLICES])
    }

    /// Returns the line that takes as long as sending along all these rings at once, in both directions.
    fn ring(&self, rings: &[Vec<u64>]) -> Line {
        let mut pairs = Vec::new();
        for ring in rings {
            let next = ring.iter().cycle().skip(1);
            pairs.extend(ring.iter().zip(next).flat_map(|(&a, &b)| [(a, b), (b, a)]));
        }
        pairs.sort_unstable();
        pairs.dedup();
        let route = self.route(&pairs);
        let (participants, stride) = (rings.first().map_or(1, Vec::len) as u64, route.link_messages.max(1));
        Line {
            participants,
            ring: participants > 2,
            stride,
            link_bandwidth: route.link_bandwidth,
            hop_latency: self.dims[CHIPS.start].latency * route.hops as f64 / stride as f64,
        }
    }

    /// Returns the group of an explicit list of device ids, assuming that the collective's other groups look alike.
    /// Ignores ids outside the mesh.
    pub fn group_of_devices(&self, devices: &[u64]) -> Group {
        let inside = devices.iter().filter(|&&device| device < self.devices()).count();
        self.group_of_extents(inside as u64, &self.extents(devices))
    }

    /// Returns the parts of the dimensions over which these devices extend.
    fn extents(&self, devices: &[u64]) -> [Extent; DIMS] {
        let places: SmallVec<[Place; 16]> = devices.iter().filter_map(|&device| self.coordinates(device)).collect();
        let mut along: SmallVec<[u64; 16]> = SmallVec::new();
        std::array::from_fn(|dim| {
            along.clear();
            along.extend(places.iter().map(|place| place[dim]));
            along.sort_unstable();
            along.dedup();
            extent_of(&along)
        })
    }
}

/// Returns the digits that count through these coordinates, which must be sorted and distinct. Coordinates that fit no
/// digits are assumed to be evenly spaced.
fn extent_of(coordinates: &[u64]) -> Extent {
    let [first, .., last] = *coordinates else { return Extent::NONE };
    let mut extent = Extent::NONE;
    // The digits found so far give the first `counted` coordinates, within a block of `block` positions.
    let (mut counted, mut block) = (1, 1);
    while counted < coordinates.len() {
        let step = coordinates[counted] - first;
        let repeats = |times: usize| {
            let (from, offset) = (times * counted, times as u64 * step);
            coordinates.len() >= from + counted
                && (0..counted).all(|at| coordinates[from + at] == coordinates[at] + offset)
        };
        let size = (1..).take_while(|&times| repeats(times)).count() + 1;
        if size == 1 || !step.is_multiple_of(block) {
            let participants = coordinates.len() as u64;
            return Extent { participants, stride: (last - first).div_ceil(participants - 1), skipped: 1 };
        }
        extent.skip(step / block);
        extent.take(size as u64);
        counted *= size;
        block = step * size as u64;
    }
    extent
}
