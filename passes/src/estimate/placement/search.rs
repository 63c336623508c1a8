//! Searches the best placement by enumeration: every factorization of the axes into the dimensions, and the orders of
//! axes that share a dimension.
//!
//! Counts, not times, limit the number of placements tried, so the result is the same everywhere. Where a factorization
//! has many orders, one of them is improved by swapping neighbors. The first found wins ties.

use super::{Assignment, DIMS, Grid, Placement, PlacementError, Slice};
use crate::estimate::collective::gather_floor_seconds;
use crate::heuristics::HEURISTICS;
use dialect::sharding::AxisPart;

impl Placement {
    /// Returns the placement with the lowest score.
    ///
    /// # Errors
    /// When the slice's devices are no multiple of the mesh's.
    pub fn best(
        slice: &Slice,
        axis_sizes: &[u64],
        score: impl FnMut(&Placement) -> f64,
    ) -> Result<Placement, PlacementError> {
        let grid = Grid::new(slice, axis_sizes)?;
        let mut search = Search { grid: &grid, axis_sizes, score, tried: 0, best: None };
        search.factor(0, &mut Assignment::empty(axis_sizes.len()), grid.dims.map(|dim| dim.size));
        match search.best {
            Some(best) => Ok(best.placement),
            // Sizes whose product divides the slice's can always be factored into its dimensions.
            None => Err(PlacementError { message: format!("no placement of the mesh on {slice}") }),
        }
    }

    /// Returns the placement that can gather `bytes[axis]` bytes per device over each axis in the least time, one axis
    /// after another. Axes without an entry carry no bytes.
    ///
    /// # Errors
    /// When the slice's devices are no multiple of the mesh's.
    pub fn best_for_bytes(slice: &Slice, axis_sizes: &[u64], bytes: &[f64]) -> Result<Placement, PlacementError> {
        Placement::best(slice, axis_sizes, |placement| {
            let seconds = |(axis, (&size, &bytes))| {
                let group = placement.group(&[AxisPart::whole(axis as u32, size as u32)]);
                gather_floor_seconds(bytes, &group)
            };
            axis_sizes.iter().zip(bytes).enumerate().map(seconds).sum()
        })
    }
}

struct Best {
    score: f64,
    placement: Placement,
}

struct Search<'a, F> {
    grid: &'a Grid,
    axis_sizes: &'a [u64],
    score: F,
    tried: usize,
    best: Option<Best>,
}

impl<F: FnMut(&Placement) -> f64> Search<'_, F> {
    /// Tries every way to give axis `axis` and the ones after it shares of the dimensions' remaining sizes `left`.
    fn factor(&mut self, axis: usize, assignment: &mut Assignment, left: [u64; DIMS]) {
        if self.is_over() {
            return;
        }
        match (axis..self.axis_sizes.len()).find(|&axis| self.axis_sizes[axis] > 1) {
            Some(axis) => self.share(axis, 0, self.axis_sizes[axis], assignment, left),
            None => {
                // The remaining sizes are unused; their product is the number of unused devices.
                assignment.factors[self.axis_sizes.len()] = left;
                self.order(assignment);
            }
        }
    }

    /// Tries every way to give axis `axis` a share of dimension `dim` and of the dimensions after it, until its `rest`
    /// is used up.
    fn share(&mut self, axis: usize, dim: usize, rest: u64, assignment: &mut Assignment, left: [u64; DIMS]) {
        if dim == DIMS {
            if rest == 1 {
                self.factor(axis + 1, assignment, left);
            }
            return;
        }
        // Large shares come first, so that whole dimensions are tried before the search reaches its limit.
        for size in
            (1..=rest.min(left[dim])).rev().filter(|size| rest.is_multiple_of(*size) && left[dim].is_multiple_of(*size))
        {
            let mut left = left;
            left[dim] /= size;
            assignment.factors[axis][dim] = size;
            self.share(axis, dim + 1, rest / size, assignment, left);
        }
        assignment.factors[axis][dim] = 1;
    }

    /// Tries the orders of the axes that share a dimension: all if they are few, else by a hill climb from one.
    fn order(&mut self, assignment: &mut Assignment) {
        let mut orders = 1;
        for dim in 0..DIMS {
            // Unused chips at the major end, then earlier axes: the last axis of the mesh is contiguous.
            let axes = (0..self.axis_sizes.len()).rev().chain([self.axis_sizes.len()]);
            assignment.orders[dim] = axes.filter(|&axis| assignment.factors[axis][dim] > 1).collect();
            orders *= (1..=assignment.orders[dim].len()).product::<usize>();
        }
        if orders <= HEURISTICS.most_orders { self.permute(0, 0, assignment) } else { self.climb(assignment) }
    }

    /// Tries every order from position `at` of dimension `dim` on.
    fn permute(&mut self, dim: usize, at: usize, assignment: &mut Assignment) {
        if dim == DIMS {
            let _ = self.try_one(assignment);
        } else if at + 1 >= assignment.orders[dim].len() {
            self.permute(dim + 1, 0, assignment);
        } else {
            for other in at..assignment.orders[dim].len() {
                assignment.orders[dim].swap(at, other);
                self.permute(dim, at + 1, assignment);
                assignment.orders[dim].swap(at, other);
            }
        }
    }

    /// Starts from the assignment's order and keeps every helpful swap of neighbors in a dimension, until no swap
    /// helps.
    fn climb(&mut self, assignment: &mut Assignment) {
        let Some(mut score) = self.try_one(assignment) else { return };
        let mut improved = true;
        while improved {
            improved = false;
            for dim in 0..DIMS {
                for at in 1..assignment.orders[dim].len() {
                    assignment.orders[dim].swap(at - 1, at);
                    match self.try_one(assignment) {
                        Some(swapped) if swapped < score => (score, improved) = (swapped, true),
                        _ => assignment.orders[dim].swap(at - 1, at),
                    }
                }
            }
        }
    }

    /// Scores one placement; `None` when the search is over.
    fn try_one(&mut self, assignment: &Assignment) -> Option<f64> {
        if self.is_over() {
            return None;
        }
        self.tried += 1;
        let placement = Placement::of_assignment(self.grid, self.axis_sizes, assignment);
        let score = (self.score)(&placement);
        if self.best.as_ref().is_none_or(|best| score.total_cmp(&best.score).is_lt()) {
            self.best = Some(Best { score, placement });
        }
        Some(score)
    }

    fn is_over(&self) -> bool {
        self.tried >= HEURISTICS.most_placements
    }
}
