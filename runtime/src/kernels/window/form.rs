//! Which side of a product is read in place.

use super::loops::{Loop, count};
use super::product::{DEPTH, Product, ZEROS};
use crate::kernels::micro::ROWS;

/// The side that is read in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Tiles are of rows. Rows in the padding point to zeros.
    Left,
    /// Tiles are of rows that reach into padding alike, so that the sum skips it.
    Even,
    /// Tiles are of columns, and the left side is packed, with its padding.
    Right,
    /// Tiles are of rows, and the vectors run along a loop that all tensors have: no element is used twice.
    Lanes,
}

impl Form {
    pub(super) fn of(product: &Product) -> Self {
        if wide_loop(product).is_some() {
            return Self::Lanes;
        }
        let guarded = product.sum.iter().any(|l| l.size > 1 && l.guard.is_some())
            || product.rows.iter().chain(&product.batch).any(|l| l.guard.is_some());
        let free = product.sum.iter().filter(|l| l.size > 1 && l.guard.is_none());
        let near = free.min_by_key(|l| l.left.unsigned_abs());
        let zeros = near.is_none_or(few_zeros);
        let columns = count(&product.columns);
        // If neighboring elements of the result are in different rows, vectors along the rows are stored at once.
        if guarded && columns >= ROWS && product.rows.iter().any(|l| l.out == 1 && l.size >= 8) {
            return Self::Right;
        }
        // Few columns leave most of a vector empty.
        if columns < 4 && count(&product.rows) > 4 * columns {
            return Self::Right;
        }
        match () {
            () if !guarded => Self::Left,
            () if near.is_some() && zeros => Self::Left,
            () if even_rows(product).is_some_and(|l| l.size >= 6 || l.left == 1 || columns < 16) => Self::Even,
            () if near.is_none() && columns < 16 => Self::Left,
            () => Self::Right,
        }
    }
}

/// Returns whether a tile's sum along this loop can read zeros instead of padding.
pub(super) fn few_zeros(l: &Loop) -> bool {
    l.size.min(DEPTH).saturating_mul(l.left.unsigned_abs()) <= ZEROS
}

/// Returns the row loop for tiles along which padding doesn't change: the one whose elements are nearest.
pub(super) fn even_rows(product: &Product) -> Option<Loop> {
    let long = product.rows.iter().filter(|l| l.guard.is_none() && l.size >= 3);
    long.min_by_key(|l| l.left.unsigned_abs()).copied()
}

/// Returns the batch loop along which vectors are read, if each element is multiplied with few others.
pub(super) fn wide_loop(product: &Product) -> Option<usize> {
    let along = |l: &Loop| l.left == 1 && l.guard.is_none() && l.size >= 4;
    let found = product.batch.iter().position(along)?;
    (count(&product.columns) <= 4).then_some(found)
}
