//! LU decompositions with partial pivoting: first of the left half of the columns, then of the right half after
//! elimination.

use std::marker::PhantomData;

use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{MatMut, Par};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{in_columns, read, subtract_product, write};

pub(super) struct Lu<T> {
    rows: usize,
    columns: usize,
    /// Whether the last result is the permutation, and rows are counted from 0.
    permutation: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Lu<T> {
    pub(super) fn new(rows: usize, columns: usize, permutation: bool) -> Self {
        Self { rows, columns, permutation, of: PhantomData }
    }
}

impl<T: Field> Decompose for Lu<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let mut a = read::<T>(operands[0].elements(), self.rows, self.columns);
        let count = self.rows.min(self.columns);
        let mut swaps = vec![0; count];
        let (mut left, mut right) = a.as_mut().split_at_col_mut(count);
        let singular = factor(threads, left.rb_mut(), &mut swaps);
        swap(threads, right.rb_mut(), &swaps);
        solve(threads, left.rb().subrows(0, count), right.subrows_mut(0, count));
        write(a.as_ref(), results[0].elements());
        let first = usize::from(!self.permutation);
        let to: &mut [i32] = results[1].elements();
        to.iter_mut().zip(&swaps).for_each(|(to, &row)| *to = (row + first) as i32);
        let last: &mut [i32] = results[2].elements();
        if self.permutation {
            last.iter_mut().enumerate().for_each(|(i, row)| *row = i as i32);
            swaps.iter().enumerate().for_each(|(i, &j)| last.swap(i, j));
        } else {
            last[0] = singular.map_or(0, |k| k as i32 + 1);
        }
    }
}

/// The maximum number of columns in which elements are eliminated one by one.
const FEW: usize = 8;

/// Computes both factors in place of a matrix with at least as many rows as columns, and the row with which each was
/// swapped. Returns the first pivot that is 0.
fn factor<T: Field>(threads: usize, mut a: MatMut<'_, T>, swaps: &mut [usize]) -> Option<usize> {
    let n = a.ncols();
    if n <= FEW {
        return eliminate(a, swaps);
    }
    let half = n / 2;
    let (first, last) = swaps.split_at_mut(half);
    let (mut left, mut right) = a.rb_mut().split_at_col_mut(half);
    let singular = factor(threads, left.rb_mut(), first);
    swap(threads, right.rb_mut(), first);
    let (top, mut below) = right.split_at_row_mut(half);
    let (corner, mut left_below) = left.split_at_row_mut(half);
    let mut top = top;
    solve(threads, corner.rb(), top.rb_mut());
    subtract_product(threads, below.rb_mut(), left_below.rb(), top.rb());
    let later = factor(threads, below, last);
    swap(threads, left_below.rb_mut(), last);
    last.iter_mut().for_each(|row| *row += half);
    singular.or(later.map(|k| k + half))
}

fn eliminate<T: Field>(a: MatMut<'_, T>, swaps: &mut [usize]) -> Option<usize> {
    let mut singular = None;
    // Columns are contiguous, which lets loops over rows vectorize.
    let mut columns: Vec<&mut [T]> =
        a.col_iter_mut().filter_map(|c| Some(c.try_as_col_major_mut()?.as_slice_mut())).collect();
    for k in 0..columns.len() {
        let (done, rest) = columns.split_at_mut(k + 1);
        let factors = &mut *done[k];
        // LAPACK compares the sums of the magnitudes of real and imaginary parts.
        let size = |v: &T| v.wide().re.abs() + v.wide().im.abs();
        let (mut pivot, mut largest) = (k, size(&factors[k]));
        for (i, v) in factors.iter().enumerate().skip(k + 1) {
            let this = size(v);
            if this > largest {
                (pivot, largest) = (i, this);
            }
        }
        swaps[k] = pivot;
        if largest == 0.0 {
            singular = singular.or(Some(k));
            continue;
        }
        done.iter_mut().chain(&mut *rest).for_each(|column| column.swap(k, pivot));
        let (head, factors) = (done[k][k], &mut done[k][k + 1..]);
        factors.iter_mut().for_each(|v| *v /= head);
        for column in rest {
            let (above, below) = column.split_at_mut(k + 1);
            below.iter_mut().zip(&*factors).for_each(|(v, &factor)| *v -= factor * above[k]);
        }
    }
    singular
}

/// Swaps rows in order.
fn swap<T: Field>(threads: usize, a: MatMut<'_, T>, swaps: &[usize]) {
    in_columns(threads, 0, a, &|_, mut part| {
        for j in 0..part.ncols() {
            for (i, &other) in swaps.iter().enumerate().filter(|s| s.0 != *s.1) {
                let (x, y) = (part[(i, j)], part[(other, j)]);
                (part[(i, j)], part[(other, j)]) = (y, x);
            }
        }
    });
}

/// Solves with the lower triangle of `corner`, whose diagonal counts as 1.
fn solve<T: Field>(threads: usize, corner: faer::MatRef<'_, T>, b: MatMut<'_, T>) {
    in_columns(threads, 0, b, &|_, part| solve_unit_lower_triangular_in_place(corner, part, Par::Seq));
}
