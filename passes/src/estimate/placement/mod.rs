//! The placement of a mesh on slices: each physical dimension is divided into parts, each of them a part of one mesh
//! axis.
//!
//! A mesh axis may own several dimensions (it gets their combined bandwidth) and several axes may share one (then the
//! minor axis's groups are contiguous segments, the major one's are strided and share links). Devices of some small
//! slices are listed one by one instead. Device ids are row-major over the mesh, as in JAX. Several slices form an
//! additional dimension, the major one. Chips beyond the mesh's devices are unused. Approximations, all pessimistic
//! unless noted otherwise: strided groups share their links as if all ran at once; a sub-axis that splits a part
//! unevenly is priced as the whole part; a segment of a ring is a line; twisted tori are not modeled.

mod default;
mod devices;
mod jax;
mod route;
mod search;
#[cfg(test)]
mod tests;

use super::chip::Fabric;
use super::group::{Group, Line, Switch};
use super::reached::Reached;
use super::target::Slice;
use dialect::sharding::{Axes, AxisPart, axis};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// A part of a mesh axis that is placed along a part of a physical dimension.
///
/// Unlike an [`AxisPart`], which names a part of an axis from its major end, this has the distances of neighbors along
/// the axis and along the links; chips that the mesh leaves unused are part of a dimension but of no axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlacedPart {
    /// The mesh axis; equal to the number of axes for chips outside the mesh.
    axis: usize,
    /// The distance along the axis of one step of the part.
    axis_stride: u64,
    size: u64,
    dim: usize,
    /// The distance along the dimension of one step of the part.
    dim_stride: u64,
}

/// A physical dimension. The first, of slices, has size 1 for a single slice; the last, of chiplets, has size 1 where
/// devices are whole chips.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    size: u64,
    wraps: bool,
    link_bandwidth: f64,
    /// Seconds per link crossed, or through a switch.
    latency: f64,
    /// Whether a switch or a network connects all positions along it.
    switched: bool,
}

/// One dimension of slices, three of chips and one of chiplets.
pub const DIMS: usize = 5;
const SLICES: usize = 0;
const CHIPS: std::ops::Range<usize> = 1..4;
const CHIPLETS: usize = 4;

/// Coordinates of a device: its slice, three of its chip, and its chiplet.
pub type Place = [u64; DIMS];

/// The positions of a mesh's devices in a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    dims: [Dim; DIMS],
    axis_sizes: SmallVec<[u64; 4]>,
    /// The placed parts, sorted by dimension, minor parts first.
    placed: SmallVec<[PlacedPart; 8]>,
    reached: Option<&'static Reached>,
    /// The place of each device, if it doesn't follow from the parts of one slice; those of slices hold in any case.
    listed: Option<Arc<[Place]>>,
}

/// The reason why a mesh cannot be placed on a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementError {
    /// A description of what does not fit.
    pub message: String,
}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PlacementError {}

/// The factor of each dimension that each axis takes: `factors[axis][dim]`, with one more row for unused chips; and for
/// each dimension its axes from minor to major.
#[derive(Clone)]
struct Assignment {
    factors: SmallVec<[[u64; DIMS]; 5]>,
    orders: [SmallVec<[usize; 5]>; DIMS],
}

impl Placement {
    /// Returns the number of devices of the mesh.
    pub fn devices(&self) -> u64 {
        self.axis_sizes.iter().product()
    }

    /// Returns whether the mesh has axes of these sizes.
    pub fn has_axes(&self, sizes: impl Iterator<Item = i64>) -> bool {
        sizes.map(|size| size as u64).eq(self.axis_sizes.iter().copied())
    }

    /// Returns the devices on one chip: 1, or the chip's chiplets when the mesh has that many devices.
    pub fn devices_per_chip(&self) -> u64 {
        self.dims[CHIPLETS].size
    }

    /// Returns the group of a collective over these sub-axes of the mesh, which must not overlap. Ignores sub-axes of
    /// axes that the mesh doesn't have.
    pub fn group(&self, parts: &[AxisPart]) -> Group {
        if let Some(listed) = &self.listed {
            return self.group_of_listed(listed, parts);
        }
        let size = parts.iter().fold(1, |size: u64, part| size.saturating_mul(part.size.into()));
        let mut extents = [Extent::NONE; DIMS];
        for placed in &self.placed {
            self.count(placed, parts, &mut extents[placed.dim]);
        }
        self.group_of_extents(size, &extents)
    }

    /// Returns whether the devices are placed in an order that doesn't follow from the dimensions of the slice.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed.is_some()
    }

    /// Returns the parts of `axes`, major first, each with whether it spans slices; neighbors on the same level form
    /// one list of parts. `None` where a part is on both levels.
    pub fn levels(&self, axes: &[AxisPart]) -> Option<Vec<(bool, Axes)>> {
        let mut levels: Vec<(bool, Axes)> = Vec::new();
        for part in axes {
            let size = *self.axis_sizes.get(part.axis as usize)?;
            // The steps of the part along its axis, from and to.
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
                // A part whose steps don't align with the piece spans several levels at once.
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

    /// Returns the most bytes/s at which the formulas of [`collective`](crate::estimate::collective) let data enter a
    /// device, for any collective and group: over all dimensions at once. Around a ring of three devices a gather takes
    /// one step; around rings of other odd sizes it moves fewer bytes per step. Around all others, and in an exchange,
    /// at most both directions are used.
    pub fn entry_bandwidth(&self) -> f64 {
        // Bounds of an all_reduce count what devices send each other, up to twice what a switch that adds sends.
        let switched = if self.reached.is_some_and(Reached::adds_in_switches) { 2.0 } else { 1.0 };
        let along = self.dims.iter().enumerate().filter(|dim| dim.1.size > 1).map(|(i, dim)| match dim.size {
            _ if dim.switched || i == SLICES => switched * dim.link_bandwidth,
            size if size.is_power_of_two() => 2.0 * dim.link_bandwidth,
            _ => 3.0 * dim.link_bandwidth,
        });
        along.sum()
    }

    /// Returns the coordinates of a device; `None` outside the mesh.
    pub fn coordinates(&self, device: u64) -> Option<Place> {
        if device >= self.devices() {
            return None;
        }
        if let Some(listed) = &self.listed {
            return listed.get(device as usize).copied();
        }
        let mut place = [0; DIMS];
        for placed in self.placed.iter().filter(|placed| placed.axis < self.axis_sizes.len()) {
            let minor: u64 = self.axis_sizes[placed.axis + 1..].iter().product();
            let along_axis = device / minor % self.axis_sizes[placed.axis];
            place[placed.dim] += along_axis / placed.axis_stride % placed.size * placed.dim_stride;
        }
        Some(place)
    }

    /// Returns for each device of the mesh, row-major, the number of its chip (or chiplet) in the slice: the device
    /// order to build the mesh with. As in JAX, chips next to each other along the first dimension have consecutive
    /// numbers.
    pub fn device_order(&self) -> Vec<u64> {
        let numbered = [SLICES, CHIPS.start + 2, CHIPS.start + 1, CHIPS.start, CHIPLETS];
        let position = |place: Place| numbered.iter().fold(0, |number, &dim| number * self.dims[dim].size + place[dim]);
        (0..self.devices()).filter_map(|device| self.coordinates(device)).map(position).collect()
    }

    /// Adds to `extent` the factors of `placed` that belong to the group and those that don't, from minor to major.
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
                // The sub-axis splits the part unevenly, so the group is no box: take the whole rest.
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

    /// Returns the group that extends over these parts of the dimensions. When they hold more than `size` devices, the
    /// extra ones share the links.
    fn group_of_extents(&self, size: u64, extents: &[Extent; DIMS]) -> Group {
        let box_size = extents.iter().fold(1, |product: u64, extent| product.saturating_mul(extent.participants));
        let sharing = box_size.div_ceil(size.max(1));
        let line = |dim: usize| {
            let Extent { participants, stride, .. } = extents[dim];
            let Dim { size, wraps, link_bandwidth, latency, .. } = self.dims[dim];
            let ring = wraps && participants.saturating_mul(stride) == size;
            Line { participants, ring, stride: stride.saturating_mul(sharing), link_bandwidth, hop_latency: latency }
        };
        let switch = |dim: usize| self.switch(dim, extents[dim].participants, sharing);
        let mut group = Group::of_size(size);
        CHIPS.filter(|&dim| !self.dims[dim].switched).for_each(|dim| group.push(line(dim)));
        group.set_chiplets(line(CHIPLETS));
        let island = CHIPS.filter(|&dim| self.dims[dim].switched).map(switch).find(|s| s.participants > 1);
        group.set_switches(island, Some(switch(SLICES)));
        group.set_reached(self.reached);
        group
    }

    /// Returns the switch along a dimension, whose ports `sharing` groups share. Every device has its own port, so
    /// distances don't matter.
    fn switch(&self, dim: usize, participants: u64, sharing: u64) -> Switch {
        let Dim { link_bandwidth, latency, .. } = self.dims[dim];
        Switch { participants, bandwidth: link_bandwidth / sharing as f64, latency }
    }

    /// Builds the placement that an assignment describes; its factors must multiply to the axes' sizes and to the
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
        Placement { dims: grid.dims, axis_sizes: axis_sizes.into(), placed, listed: None, reached: grid.reached }
    }
}

/// The physical dimensions that a mesh is placed on.
struct Grid {
    dims: [Dim; DIMS],
    /// The devices that the mesh doesn't use: the size of the row of unused chips.
    unused: u64,
    reached: Option<&'static Reached>,
}

impl Grid {
    /// Creates the grid of a slice for a mesh of these axis sizes: its chips, or its chiplets where the mesh has more
    /// devices than chips.
    fn new(slice: &Slice, axis_sizes: &[u64]) -> Result<Grid, PlacementError> {
        let devices =
            axis_sizes.iter().try_fold(1, |devices: u64, &size| devices.checked_mul(size)).unwrap_or(u64::MAX);
        let chips = slice.chips();
        let per_chip = if devices > chips { slice.chip.chiplets } else { 1 };
        let places = chips * per_chip;
        if devices == 0 || !places.is_multiple_of(devices) {
            let fits = if devices > places { "is too small for" } else { "can't be divided evenly for" };
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
        Ok(Grid { dims, unused: places / devices, reached: chip.reached })
    }
}

/// The part of a dimension that a group covers, built part by part from minor to major.
#[derive(Clone, Copy, PartialEq)]
struct Extent {
    participants: u64,
    /// The groups interleaved between a group's participants.
    stride: u64,
    /// The product of the sizes of the parts outside the group since the last one inside.
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
