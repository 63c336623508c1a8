//! Placements that need no search: the default one and the row-major one.
//!
//! The default is the order of JAX on a slice of TPUs that the mesh fills. Elsewhere it gives each mesh axis whole
//! dimensions where sizes allow, in the slice's order; otherwise the search decides, with all axes equally busy.

use super::{Assignment, CHIPLETS, DIMS, Grid, Place, Placement, PlacementError, SLICES, Slice, jax};
use crate::estimate::chip::Fabric;
use smallvec::smallvec;

impl Placement {
    /// Returns the default placement for an unknown program: that of JAX, else whole dimensions if possible, else the
    /// best placement for axes that carry the same bytes.
    ///
    /// # Errors
    /// When the slice's devices are no multiple of the mesh's.
    pub fn new(slice: &Slice, axis_sizes: &[u64]) -> Result<Placement, PlacementError> {
        let grid = Grid::new(slice, axis_sizes)?;
        if slice.chip.fabric != Fabric::Torus || grid.unused != 1 {
            return Placement::without_jax(slice, axis_sizes);
        }
        if slice.slices == 1 {
            let placement = Placement::of_jax(slice, &grid, axis_sizes, &[]);
            return placement.map_or_else(|| Placement::without_jax(slice, axis_sizes), Ok);
        }
        // JAX lets the user choose how many slices each axis spans.
        let base = Placement::without_jax(slice, axis_sizes)?;
        let spanned: Vec<(usize, u64)> =
            base.placed.iter().filter(|p| p.dim == SLICES).map(|p| (p.axis, p.size)).collect();
        Ok(Placement::of_jax(slice, &grid, axis_sizes, &spanned).unwrap_or(base))
    }

    /// Returns JAX's placement inside of slices, for axes of which `spanned` has those that span slices, minor first,
    /// each with their number, which is its major part. `None` where JAX has no placement.
    fn of_jax(slice: &Slice, grid: &Grid, axis_sizes: &[u64], spanned: &[(usize, u64)]) -> Option<Placement> {
        let mut inside = axis_sizes.to_vec();
        spanned.iter().for_each(|&(axis, slices)| inside[axis] /= slices);
        let mut assignment = jax::assignment(grid.dims.map(|dim| dim.size), &inside)?;
        for &(axis, slices) in spanned.iter().filter(|s| s.1 > 1) {
            assignment.factors[axis][SLICES] = slices;
            assignment.orders[SLICES].push(axis);
        }
        let mut placement = Placement::of_assignment(grid, axis_sizes, &assignment);
        if let Some(one) = jax::listed(slice, grid.dims[CHIPLETS].size, &inside) {
            let place = |device: u64| {
                let (mut at, mut stride, mut rest) = (0, 1, device);
                for (size, inside) in axis_sizes.iter().zip(&inside).rev() {
                    at += rest % size % inside * stride;
                    (stride, rest) = (stride * inside, rest / size);
                }
                let mut place: Place = one[at as usize];
                place[SLICES] = placement.coordinates(device).map_or(0, |at| at[SLICES]);
                place
            };
            placement.listed = Some((0..placement.devices()).map(place).collect());
        }
        Some(placement)
    }

    /// Returns the default placement where JAX has none.
    fn without_jax(slice: &Slice, axis_sizes: &[u64]) -> Result<Placement, PlacementError> {
        match Placement::of_whole_dims(slice, axis_sizes)? {
            Some(placement) => Ok(placement),
            None => Placement::best_for_bytes(slice, axis_sizes, &vec![1e9; axis_sizes.len()]),
        }
    }

    /// Places the mesh's devices in row-major order on the slice's chips in row-major order, like reshaping the list of
    /// devices. Returns `None` where the axes' boundaries don't align with the dimensions', or where the mesh leaves
    /// chips unused.
    ///
    /// # Errors
    /// When the slice's devices are no multiple of the mesh's.
    pub fn row_major(slice: &Slice, axis_sizes: &[u64]) -> Result<Option<Placement>, PlacementError> {
        let grid = Grid::new(slice, axis_sizes)?;
        if grid.unused != 1 {
            return Ok(None);
        }
        let mut assignment = Assignment::empty(axis_sizes.len());
        let mut axis = axis_sizes.len();
        let mut left_in_axis = 1;
        for dim in (0..DIMS).rev() {
            let mut left_in_dim = grid.dims[dim].size;
            while left_in_dim > 1 {
                if left_in_axis == 1 {
                    // The mesh has as many devices as the slice, so there is another axis.
                    axis -= 1;
                    left_in_axis = axis_sizes[axis];
                    continue;
                }
                let size = left_in_dim.min(left_in_axis);
                if !left_in_dim.is_multiple_of(size) || !left_in_axis.is_multiple_of(size) {
                    return Ok(None);
                }
                assignment.factors[axis][dim] = size;
                assignment.orders[dim].push(axis);
                left_in_dim /= size;
                left_in_axis /= size;
            }
        }
        Ok(Some(Placement::of_assignment(&grid, axis_sizes, &assignment)))
    }

    /// Places each axis on separate whole dimensions, earlier axes on earlier ones; `None` where sizes don't allow it.
    fn of_whole_dims(slice: &Slice, axis_sizes: &[u64]) -> Result<Option<Placement>, PlacementError> {
        let grid = Grid::new(slice, axis_sizes)?;
        let Some(owners) = whole_dims(&grid, axis_sizes) else { return Ok(None) };
        let mut assignment = Assignment::empty(axis_sizes.len());
        for (dim, owner) in owners.into_iter().enumerate() {
            // Dimensions that no axis takes belong to the chips outside the mesh.
            let owner = owner.unwrap_or(axis_sizes.len());
            assignment.factors[owner][dim] = grid.dims[dim].size;
            assignment.orders[dim].push(owner);
        }
        Ok(Some(Placement::of_assignment(&grid, axis_sizes, &assignment)))
    }
}

impl Assignment {
    pub(super) fn empty(axes: usize) -> Assignment {
        Assignment { factors: smallvec![[1; DIMS]; axes + 1], orders: Default::default() }
    }
}

/// Returns the axis of each dimension. Single dimensions are tried before pairs and triples.
fn whole_dims(grid: &Grid, axis_sizes: &[u64]) -> Option<[Option<usize>; DIMS]> {
    let mut subsets: [usize; 1 << DIMS] = std::array::from_fn(|subset| subset);
    subsets.sort_by_key(|subset| (subset.count_ones(), *subset));
    // Dimensions of size 1 belong to no axis, so that no two subsets are equivalent.
    let free = (0..DIMS).filter(|&dim| grid.dims[dim].size > 1).fold(0, |free, dim| free | 1 << dim);
    let mut owners = [None; DIMS];
    let axes: Vec<usize> = (0..axis_sizes.len()).filter(|&axis| axis_sizes[axis] > 1).collect();
    assign(grid, axis_sizes, &axes, &subsets, free, &mut owners).then_some(owners)
}

/// Backtracks over the axes; if more axes have a size above 1 than there are dimensions, it fails at once.
fn assign(
    grid: &Grid,
    axis_sizes: &[u64],
    axes: &[usize],
    subsets: &[usize],
    free: usize,
    owners: &mut [Option<usize>; DIMS],
) -> bool {
    let Some((&axis, others)) = axes.split_first() else { return true };
    if axes.len() > free.count_ones() as usize {
        return false;
    }
    for &subset in subsets.iter().filter(|&&subset| subset != 0 && subset & !free == 0) {
        let dims = || (0..DIMS).filter(move |dim| subset & (1 << dim) != 0);
        if dims().map(|dim| grid.dims[dim].size).product::<u64>() == axis_sizes[axis] {
            let before = *owners;
            dims().for_each(|dim| owners[dim] = Some(axis));
            if assign(grid, axis_sizes, others, subsets, free & !subset, owners) {
                return true;
            }
            *owners = before;
        }
    }
    false
}
