//! Groups given as lists of devices instead of mesh axes, as in replica groups.

use super::{Extent, Place, Placement};
use crate::estimate::group::Group;
use smallvec::SmallVec;

impl Placement {
    /// Returns the group of an explicit list of device ids, assuming that the collective's other groups look alike.
    /// Ignores ids outside the mesh.
    pub fn group_of_devices(&self, devices: &[u64]) -> Group {
        let places: SmallVec<[Place; 16]> = devices.iter().filter_map(|&device| self.coordinates(device)).collect();
        let mut along: SmallVec<[u64; 16]> = SmallVec::new();
        let extents = std::array::from_fn(|dim| {
            along.clear();
            along.extend(places.iter().map(|place| place[dim]));
            along.sort_unstable();
            along.dedup();
            extent_of(&along)
        });
        self.group_of_extents(places.len() as u64, &extents)
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
