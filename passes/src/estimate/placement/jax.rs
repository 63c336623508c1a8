//! The order in which JAX places the devices of a TPU slice into a mesh, as `jax.experimental.mesh_utils` has it
//! (`create_device_mesh` with `allow_split_physical_axes`).
//!
//! Each axis takes whole dimensions of the slice, the last axis first, as many dimensions as possible; if an axis finds
//! none, dimensions are divided among axes. Some small slices instead have rings of devices that cross dimensions:
//! these orders are lists.

use super::{Assignment, CHIPLETS, CHIPS, DIMS, Place};
use crate::estimate::target::Slice;

/// The dimensions that JAX sees, in its order: those of chips, and that of chiplets if they are devices.
const PHYSICAL: [usize; 4] = [CHIPS.start, CHIPS.start + 1, CHIPS.start + 2, CHIPLETS];

/// A share of each physical dimension.
type Shares = [u64; PHYSICAL.len()];

/// The devices of 2x2 chips around a ring; `mesh_utils._TRAY_2x2_RING_ORDER`.
const RING_2X2: [u64; 4] = [0, 1, 3, 2];
/// `mesh_utils._V5E_TRAY_RING_ORDER`: a ring of 4x2 chips. JAX uses it for 2x4 chips, too, where it isn't one.
const RING_OF_8: [u64; 8] = [0, 1, 2, 3, 7, 6, 5, 4];
/// `mesh_utils._TRAY_4x4_RING_ORDER`.
const RING_4X4: [u64; 16] = [0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4];
/// `mesh_utils._V5P_2x2x2_ORDER`.
const RING_2X2X2: [u64; 8] = [0, 1, 3, 2, 6, 7, 5, 4];
/// `mesh_utils._7X_TRAY_2x2x2_RING_ORDER`, of 2x2 chips of two devices.
const RING_OF_CHIPLETS: [u64; 8] = [0, 1, 2, 3, 6, 7, 4, 5];

/// Returns the places of the devices of one slice in a mesh of these axis sizes, with `per_chip` devices on each chip;
/// `None` if they follow from the dimensions that each axis takes.
pub(super) fn listed(slice: &Slice, per_chip: u64, axis_sizes: &[u64]) -> Option<Vec<Place>> {
    let [x, y, z] = slice.dims;
    let devices = x * y * z * per_chip;
    let ring: Vec<u64> = match (slice.chip.name, slice.dims, devices) {
        ("v5e" | "v6e", [2, 2, 1], 4) => RING_2X2.to_vec(),
        ("v5e" | "v6e", _, 8) => RING_OF_8.to_vec(),
        ("v5e" | "v6e", [4, 4, 1], 16) if axis_sizes.contains(&devices) => RING_4X4.to_vec(),
        ("v5p", [2, 2, 2], 8) => RING_2X2X2.to_vec(),
        ("v7x", [..=2, ..=2, _], 8 | 16 | 24 | 32) if per_chip == 2 => {
            (0..devices / 8).flat_map(|tray| RING_OF_CHIPLETS.map(|device| tray * 8 + device)).collect()
        }
        _ => return None,
    };
    // JAX numbers the devices of these slices along x first, after the chiplets of a chip.
    let place = |device: u64| {
        let chip = device / per_chip;
        [0, chip % x, chip / x % y, chip / x / y, device % per_chip]
    };
    Some(ring.into_iter().map(place).collect())
}

/// Returns the factors of the dimensions `sizes` that the axes take, all of which must be used; `None` if JAX finds
/// none.
pub(super) fn assignment(sizes: [u64; DIMS], axis_sizes: &[u64]) -> Option<Assignment> {
    let sizes = PHYSICAL.map(|dim| sizes[dim]);
    let shares = whole(sizes, axis_sizes).or_else(|| split(sizes, axis_sizes))?;
    let mut assignment = Assignment::empty(axis_sizes.len());
    // Axes that share a dimension: the last one is minor.
    for (axis, shares) in shares.iter().enumerate().rev() {
        for (dim, &share) in PHYSICAL.into_iter().zip(shares).filter(|s| *s.1 > 1) {
            assignment.factors[axis][dim] = share;
            assignment.orders[dim].push(axis);
        }
    }
    Some(assignment)
}

/// Gives each axis whole dimensions; `None` if an axis finds none.
fn whole(mut free: Shares, axis_sizes: &[u64]) -> Option<Vec<Shares>> {
    let sizes = free;
    // Chips of one device have no dimension of chiplets.
    let dims = if sizes[3] > 1 { 4 } else { 3 };
    let mut subsets: Vec<Vec<usize>> =
        (1..1usize << dims).map(|set| (0..dims).filter(|dim| set & 1 << dim != 0).collect()).collect();
    subsets.sort_by_key(|subset| (std::cmp::Reverse(subset.len()), subset.clone()));
    let mut shares = vec![[1; PHYSICAL.len()]; axis_sizes.len()];
    for (axis, &size) in axis_sizes.iter().enumerate().rev() {
        // A dimension that is taken has size 0.
        match subsets.iter().find(|subset| subset.iter().map(|&dim| free[dim]).product::<u64>() == size) {
            Some(subset) => subset.iter().for_each(|&dim| (shares[axis][dim], free[dim]) = (sizes[dim], 0)),
            None if size == 1 => {}
            None => return None,
        }
    }
    Some(shares)
}

/// Gives each axis the best share of what the axes after it left.
fn split(sizes: Shares, axis_sizes: &[u64]) -> Option<Vec<Shares>> {
    let mut taken: Shares = [1; PHYSICAL.len()];
    let mut shares = vec![taken; axis_sizes.len()];
    for (axis, &size) in axis_sizes.iter().enumerate().rev() {
        let mut feasible = Vec::new();
        divide(size, 0, std::array::from_fn(|dim| sizes[dim] / taken[dim]), &mut [1; PHYSICAL.len()], &mut feasible);
        // Whole dimensions are best, and more of them; then the larger part in dimensions that other axes use.
        let preference = |share: &Shares| {
            let whole = |dim: &usize| share[*dim] == sizes[*dim];
            let dims = 0..sizes.len();
            let in_whole: u64 = dims.clone().filter(whole).map(|dim| share[dim]).product();
            let count = dims.clone().filter(|dim| whole(dim) && share[*dim] > 1).count();
            let shared: u64 = dims.filter(|&dim| taken[dim] > 1).map(|dim| share[dim]).product();
            (in_whole, count, shared, *share)
        };
        shares[axis] = feasible.into_iter().max_by_key(preference)?;
        (0..sizes.len()).for_each(|dim| taken[dim] *= shares[axis][dim]);
    }
    Some(shares)
}

/// Appends to `all` every share of the dimensions from `dim` on, of which `left` is free, whose product is `size`.
fn divide(size: u64, dim: usize, left: Shares, share: &mut Shares, all: &mut Vec<Shares>) {
    let Some(&free) = left.get(dim) else {
        if size == 1 {
            all.push(*share);
        }
        return;
    };
    for part in (1..=free.min(size)).filter(|part| free.is_multiple_of(*part) && size.is_multiple_of(*part)) {
        share[dim] = part;
        divide(size / part, dim + 1, left, share, all);
    }
    share[dim] = 1;
}
