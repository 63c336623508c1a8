//! How a mesh is placed on slices: each physical dimension is divided into parts, each of them a part of one mesh axis.
//!
//! A mesh axis may own several dimensions (it gets their bandwidths together) and several axes may share one (then the
//! minor one's groups are contiguous segments, the major one's are strided and share links). Device ids run row-major
//! over the mesh, as in JAX. Several slices are one more dimension, the major one. Chips beyond the mesh's devices stay unused. Approximations, all pessimistic unless said
//! otherwise: strided groups share their links as if all ran at once; a sub-axis that splits a part unevenly is priced
//! as the whole part; a segment of a ring is a line; twisted tori are not modeled.

mod default;
mod devices;
mod route;
mod search;
#[cfg(test)]
mod tests;

use super::chip::Fabric;
use super::group::{Group, Line, Switch};
use super::target::Slice;
use dialect::sharding::{Axes, AxisPart, axis};
use smallvec::SmallVec;
use std::fmt;

/// A part of a mesh axis that lies along a part of a physical dimension.
///
/// Not an [`AxisPart`]: that names a part of an axis from its major end, and this says how far apart neighbors are,
/// along the axis and along the links; chips that the mesh leaves unused are part of a dimension and of no axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlacedPart {
    /// The mesh axis; equal to the number of axes for chips outside the mesh.
    axis: usize,
    /// How far one step of the part moves along the axis.
    axis_stride: u64,
    size: u64,
    dim: usize,
    /// How far one step of the part moves along the dimension.
    dim_stride: u64,
}

/// A physical dimension. The first one, of slices, has size 1 where there is one, the last one, of chiplets, where devices
/// are whole chips.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    size: u64,
    wraps: bool,
    link_bandwidth: f64,
    /// Seconds per link crossed, or through a switch.
    latency: f64,
    /// Whether everybody along it reaches everybody, by a switch or a network.
    switched: bool,
}

/// One dimension of slices, three of chips and one of chiplets.
pub const DIMS: usize = 5;
const SLICES: usize = 0;
const CHIPS: std::ops::Range<usize> = 1..4;
const CHIPLETS: usize = 4;

/// Coordinates of a device: its slice, three of its chip, and its chiplet.
pub type Place = [u64; DIMS];

/// Where the devices of a mesh sit in a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    dims: [Dim; DIMS],
    axis_sizes: SmallVec<[u64; 4]>,
    /// Sorted by dimension, minor parts first.
    placed: SmallVec<[PlacedPart; 8]>,
}

/// Why a mesh cannot be placed on a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// What does not fit.
    pub message: String,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlacementError {}

/// How much of each dimension each axis takes: `factors[axis][dim]`, with one more row for unused chips, and for each
/// dimension the axes in it from minor to major.
#[derive(Clone)]
struct Assignment {
    factors: SmallVec<[[u64; DIMS]; 5]>,
    orders: [SmallVec<[usize; 5]>; DIMS],
}

impl Placement {
    /// Devices of the mesh.
    pub fn devices(&self) -> u64 {
        self.axis_sizes.iter().product()
    }

    /// Whether the mesh has axes of these sizes.
    pub fn has_axes(&self, sizes: impl Iterator<Item = i64>) -> bool {
        sizes.map(|size| size as u64).eq(self.axis_sizes.iter().copied())
    }

    /// Devices on one chip: 1, or the chip's chiplets when the mesh has that many devices.
    pub fn devices_per_chip(&self) -> u64 {
        self.dims[CHIPLETS].size
    }

    /// The group of a collective over these sub-axes of the mesh. They must not overlap; those of axes that the mesh
    /// does not have are ignored.
    pub fn group(&self, parts: &[AxisPart]) -> Group {
        let size = parts.iter().fold(1, |size: u64, part| size.saturating_mul(part.size.into()));
        let mut extents = [Extent::NONE; DIMS];
        for placed in &self.placed {
            self.count(placed, parts, &mut extents[placed.dim]);
        }
        self.group_of_extents(size, &extents)
    }

    /// The parts of `axes`, major first, each with whether it lies across slices; neighbors that both do, or both
    /// don't, are one list of parts. `None` where a part is neither.
    pub fn levels(&self, axes: &[AxisPart]) -> Option<Vec<(bool, Axes)>> {
        let mut levels: Vec<(bool, Axes)> = Vec::new();
        for part in axes {
            let size = *self.axis_sizes.get(part.axis as usize)?;
            // Steps of the part along its axis, from and to.
            let (from, to) = (size / u64::from(part.end()), size / u64::from(part.pre));
            let mut placed: SmallVec<[&PlacedPart; 4]> =
                self.placed.iter().filter(|p| p.axis == part.axis as usize && p.size > 1).collect();
            placed.sort_by_key(|p| std::cmp::Reverse(p.axis_stride));
            let mut at = to;
            for piece in placed {
                let (low, high) = (piece.axis_stride.max(from), (piece.axis_stride * piece.size).min(to));
                if low >= high {
                    continue;
                }
                // A part whose steps are none of the piece's goes through several levels at once.
                let even =
                    low.is_multiple_of(piece.axis_stride) && (piece.axis_stride * piece.size).is_multiple_of(high);
                if high != at || !high.is_multiple_of(low) || !even {
                    return None;
                }
                at = low;
                let piece_part = AxisPart { axis: part.axis, pre: (size / high) as u32, size: (high / low) as u32 };
                let across = piece.dim == SLICES;
                match levels.last_mut() {
                    Some((same, parts)) if *same == across => axis::push_merged(parts, piece_part),
                    _ => levels.push((across, Axes::from_slice(&[piece_part]))),
                }
            }
            if at != from {
                return None;
            }
        }
        Some(levels)
    }

    /// The most bytes/s at which the formulas of [`collective`](crate::estimate::collective) let data enter a device,
    /// whatever the collective and its group: over all dimensions at once. Around a ring of an odd number of devices a
    /// gather of three takes one step, of more devices fewer bytes a step; around all others, and in an exchange, both
    /// directions are used at most.
    pub fn entry_bandwidth(&self) -> f64 {
        let along = self.dims.iter().enumerate().filter(|dim| dim.1.size > 1).map(|(i, dim)| match dim.size {
            _ if dim.switched || i == SLICES => dim.link_bandwidth,
            size if size.is_power_of_two() => 2.0 * dim.link_bandwidth,
            _ => 3.0 * dim.link_bandwidth,
        });
        along.sum()
    }

    /// Where a device is; `None` outside the mesh.
    pub fn coordinates(&self, device: u64) -> Option<Place> {
        if device >= self.devices() {
            return None;
        }
        let mut place = [0; DIMS];
        for placed in self.placed.iter().filter(|placed| placed.axis < self.axis_sizes.len()) {
            let minor: u64 = self.axis_sizes[placed.axis + 1..].iter().product();
            let along_axis = device / minor % self.axis_sizes[placed.axis];
            place[placed.dim] += along_axis / placed.axis_stride % placed.size * placed.dim_stride;
        }
        Some(place)
    }

    /// For each device of the mesh, row-major, the row-major position of its chip (or chiplet) in the slice: the device
    /// order to build the mesh with.
    pub fn device_order(&self) -> Vec<u64> {
        let position =
            |place: Place| place.iter().zip(self.dims).fold(0, |position, (at, dim)| position * dim.size + at);
        (0..self.devices()).filter_map(|device| self.coordinates(device)).map(position).collect()
    }

    /// Adds to `extent` the factors of `placed` that belong to the group and those that do not, from minor to major.
    fn count(&self, placed: &PlacedPart, parts: &[AxisPart], extent: &mut Extent) {
        let Some(&axis_size) = self.axis_sizes.get(placed.axis) else {
            extent.skip(placed.size);
            return;
        };
        let end = placed.axis_stride * placed.size;
        let mut at = placed.axis_stride;
        while at < end {
            // The sub-axis that covers this position of the axis, else the next one above it.
            let mut until = end;
            let mut covered = false;
            for part in parts.iter().filter(|part| part.axis as usize == placed.axis) {
                let from = axis_size / u64::from(part.end()).max(1);
                let to = from.saturating_mul(part.size.into());
                if from <= at && at < to {
                    (until, covered) = (to.min(end), true);
                    break;
                }
                if from > at {
                    until = until.min(from);
                }
            }
            if !until.is_multiple_of(at) || !end.is_multiple_of(until) {
                // The sub-axis splits the part unevenly, so the group is no box: take all of what is left.
                (until, covered) = (end, true);
            }
            if covered {
                extent.take(until / at)
            } else {
                extent.skip(until / at)
            }
            at = until;
        }
    }

    /// The group that extends over these parts of the dimensions. When they hold more than `size` devices, the extra
    /// ones share the links.
    fn group_of_extents(&self, size: u64, extents: &[Extent; DIMS]) -> Group {
        let box_size = extents.iter().fold(1, |product: u64, extent| product.saturating_mul(extent.participants));
        let sharing = box_size.div_ceil(size.max(1));
        let line = |dim: usize| {
            let Extent { participants, stride, .. } = extents[dim];
            let Dim { size, wraps, link_bandwidth, latency, .. } = self.dims[dim];
            let ring = wraps && participants.saturating_mul(stride) == size;
            Line { participants, ring, stride: stride.saturating_mul(sharing), link_bandwidth, hop_latency: latency }
        };
        // Everybody has a port of its own to a switch, so it doesn't matter who is how far away.
        let switch = |dim: usize| {
            let Dim { link_bandwidth, latency, .. } = self.dims[dim];
            Switch { participants: extents[dim].participants, bandwidth: link_bandwidth / sharing as f64, latency }
        };
        let mut group = Group::of_size(size);
        CHIPS.filter(|&dim| !self.dims[dim].switched).for_each(|dim| group.push(line(dim)));
        group.set_chiplets(line(CHIPLETS));
        let island = CHIPS.filter(|&dim| self.dims[dim].switched).map(switch).find(|s| s.participants > 1);
        group.set_switches(island, Some(switch(SLICES)));
        group
    }

    /// Builds the placement an assignment describes; its factors must multiply to the axes' sizes and to the
    /// dimensions'.
    fn of_assignment(grid: &Grid, axis_sizes: &[u64], assignment: &Assignment) -> Placement {
        let mut placed = SmallVec::new();
        for (dim, order) in assignment.orders.iter().enumerate() {
            let mut dim_stride = 1;
            for &axis in order {
                let size = assignment.factors[axis][dim];
                // Along an axis the dimensions are in the slice's order, the last one minor.
                let axis_stride = assignment.factors[axis][dim + 1..].iter().product();
                placed.push(PlacedPart { axis, axis_stride, size, dim, dim_stride });
                dim_stride *= size;
            }
        }
        Placement { dims: grid.dims, axis_sizes: axis_sizes.into(), placed }
    }
}

/// The physical dimensions that a mesh is placed on.
struct Grid {
    dims: [Dim; DIMS],
    /// Devices the mesh does not use: the size of the row of unused chips.
    unused: u64,
}

impl Grid {
    /// The slice as seen by a mesh of that many devices: its chips, or its chiplets where the mesh has more devices
    /// than chips.
    fn new(slice: &Slice, axis_sizes: &[u64]) -> Result<Grid, PlacementError> {
        let devices =
            axis_sizes.iter().try_fold(1, |devices: u64, &size| devices.checked_mul(size)).unwrap_or(u64::MAX);
        let chips = slice.chips();
        let per_chip = if devices > chips { slice.chip.chiplets } else { 1 };
        let places = chips * per_chip;
        if devices == 0 || !places.is_multiple_of(devices) {
            let fits = if devices > places { "has no room for" } else { "cannot be divided evenly for" };
            let mesh: Vec<String> = axis_sizes.iter().map(u64::to_string).collect();
            let mesh = mesh.join("x");
            return Err(PlacementError { message: format!("{slice} with {places} devices {fits} the mesh {mesh}") });
        }
        let (chip, wraps) = (slice.chip, slice.wraps());
        // The devices of a chip share its links.
        let share = |bandwidth: f64| bandwidth / per_chip as f64;
        let dim =
            |size, link_bandwidth, latency, switched| Dim { size, wraps: false, link_bandwidth, latency, switched };
        let dims = std::array::from_fn(|at| match at {
            SLICES => dim(slice.slices, share(chip.network_bandwidth), chip.network_latency, true),
            CHIPLETS => dim(per_chip, chip.chiplet_bandwidth, chip.hop_latency, false),
            _ => {
                let switched = chip.fabric == Fabric::Switch;
                let at = at - CHIPS.start;
                Dim { wraps: wraps[at], ..dim(slice.dims[at], share(chip.link_bandwidth), chip.hop_latency, switched) }
            }
        });
        Ok(Grid { dims, unused: places / devices })
    }
}

/// The part of a dimension that a group covers, built up part by part from minor to major.
#[derive(Clone, Copy)]
struct Extent {
    participants: u64,
    /// Groups interleaved between a group's participants.
    stride: u64,
    /// Product of the sizes of the parts outside the group since the last one inside.
    skipped: u64,
}

impl Extent {
    const NONE: Extent = Extent { participants: 1, stride: 1, skipped: 1 };

    /// Adds a part inside the group.
    fn take(&mut self, size: u64) {
        if size > 1 {
            self.participants *= size;
            self.stride *= self.skipped;
            self.skipped = 1;
        }
    }

    /// Adds a part outside the group.
    fn skip(&mut self, size: u64) {
        self.skipped *= size;
    }
}
