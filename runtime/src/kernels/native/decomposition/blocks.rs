//! Matrices stored by columns, and work on them in parts that don't depend on the number of threads.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::Conjugate;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::super::field::Field;

/// Number of columns of a part.
pub(super) const PART: usize = 128;
/// Rows and columns of a tile that is transposed in the cache.
const TILE: usize = 32;

fn tiles(rows: usize, columns: usize, mut each: impl FnMut(Range<usize>, Range<usize>)) {
    for i in (0..rows).step_by(TILE) {
        for j in (0..columns).step_by(TILE) {
            each(i..(i + TILE).min(rows), j..(j + TILE).min(columns));
        }
    }
}

/// Returns the matrix whose rows are consecutive in `from`.
pub(super) fn read<T: Field>(from: &[T], rows: usize, columns: usize) -> Mat<T> {
    let mut to = Mat::zeros(rows, columns);
    tiles(rows, columns, |some_rows, some_columns| {
        for j in some_columns {
            for i in some_rows.clone() {
                to[(i, j)] = from[i * columns + j];
            }
        }
    });
    to
}

/// Writes the rows of a matrix one after the other.
pub(super) fn write<T: Field>(from: MatRef<'_, T>, to: &mut [T]) {
    let columns = from.ncols();
    tiles(from.nrows(), columns, |some_rows, some_columns| {
        for i in some_rows {
            for j in some_columns.clone() {
                to[i * columns + j] = from[(i, j)];
            }
        }
    });
}

/// Calls `work` with parts of the columns, and the number of the first column of each part.
pub(super) fn in_columns<T: Field>(
    threads: usize,
    first: usize,
    m: MatMut<'_, T>,
    work: &(dyn Fn(usize, MatMut<'_, T>) + Sync),
) {
    if m.ncols() <= PART {
        if m.ncols() > 0 {
            work(first, m);
        }
        return;
    }
    let half = (m.ncols() / 2).next_multiple_of(PART);
    let (left, right) = m.split_at_col_mut(half);
    if threads > 1 {
        rayon::join(
            || in_columns(threads / 2, first, left, work),
            || in_columns(threads.div_ceil(2), first + half, right, work),
        );
    } else {
        in_columns(1, first, left, work);
        in_columns(1, first + half, right, work);
    }
}

/// Subtracts `lhs rhs` from `to`.
pub(super) fn subtract_product<T: Field>(
    threads: usize,
    to: MatMut<'_, T>,
    lhs: MatRef<'_, T>,
    rhs: MatRef<'_, impl Conjugate<Canonical = T>>,
) {
    in_columns(threads, 0, to, &|first, mut part| {
        let some = rhs.subcols(first, part.ncols());
        matmul(part.rb_mut(), Accum::Add, lhs.rb(), some, -T::one(), Par::Seq);
    });
}
