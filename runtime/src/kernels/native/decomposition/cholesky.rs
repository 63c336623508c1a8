//! Factors positive-definite matrices in place of one of their triangles, block by block.

use std::marker::PhantomData;

use faer::linalg::cholesky::llt::factor::{LltError, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place_with_conj;
use faer::prelude::{Reborrow, ReborrowMut, default};
use faer::{Accum, Conj, MatMut, MatRef, Par};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{in_columns, read};

/// Number of columns that are factored together.
const BLOCK: usize = 128;

pub(super) struct Cholesky<T> {
    n: usize,
    lower: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Cholesky<T> {
    pub(super) fn new(n: usize, lower: bool) -> Self {
        Self { n, lower, of: PhantomData }
    }
}

impl<T: Field> Decompose for Cholesky<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let (n, from): (_, &[T]) = (self.n, operands[0].elements());
        // The rows of an upper triangle are the columns of its transpose, whose factor is the conjugate's.
        let mut l = if self.lower { read(from, n, n) } else { MatRef::from_column_major_slice(from, n, n).to_owned() };
        let failed = factor(threads, l.as_mut());
        let done = failed.unwrap_or(n);
        let to: &mut [T] = results[0].elements();
        to.copy_from_slice(from);
        for j in 0..done {
            for i in j..n {
                to[if self.lower { i * n + j } else { j * n + i }] = l[(i, j)];
            }
        }
        results[1].elements::<i32>()[0] = failed.map_or(0, |k| k as i32 + 1);
    }
}

/// Computes the factor in the lower triangle. If a pivot has no root, returns the number of finished columns.
fn factor<T: Field>(threads: usize, mut a: MatMut<'_, T>) -> Option<usize> {
    let n = a.nrows();
    for k in (0..n).step_by(BLOCK) {
        let size = BLOCK.min(n - k);
        let (mut panel, mut rest) = a.rb_mut().submatrix_mut(k, k, n - k, n - k).split_at_col_mut(size);
        let (mut corner, mut below) = panel.rb_mut().split_at_row_mut(size);
        let before = corner.rb().to_owned();
        if let Err(done) = small(corner.rb_mut()) {
            corner.copy_from(&before);
            let leading = small(corner.rb_mut().submatrix_mut(0, 0, done, done));
            let (known, mut rows) = panel.split_at_row_mut(done);
            if leading.is_ok() {
                solve(threads, known.rb().subcols(0, done), rows.rb_mut().subcols_mut(0, done));
            }
            return Some(k + done);
        }
        solve(threads, corner.rb(), below.rb_mut());
        let below = below.rb();
        let square = rest.rb_mut().subrows_mut(size, n - k - size);
        in_columns(threads, 0, square, &|first, part| {
            let columns = part.ncols();
            let (_, part) = part.split_at_row_mut(first);
            let rows = below.subrows(first, below.nrows() - first);
            matmul(part, Accum::Add, rows, below.subrows(first, columns).adjoint(), -T::one(), Par::Seq);
        });
    }
    None
}

/// Computes the factor of a small matrix. The error is the number of pivots that have a root.
fn small<T: Field>(a: MatMut<'_, T>) -> Result<(), usize> {
    let stack = cholesky_in_place_scratch::<T>(a.nrows(), Par::Seq, default());
    let mut memory = faer::dyn_stack::MemBuffer::new(stack);
    let stack = faer::dyn_stack::MemStack::new(&mut memory);
    match cholesky_in_place(a, default(), Par::Seq, stack, default()) {
        Ok(_) => Ok(()),
        Err(LltError::NonPositivePivot { index }) => Err(index),
    }
}

/// Solves `x l^H = b` in place of `b`.
fn solve<T: Field>(threads: usize, l: MatRef<'_, T>, b: MatMut<'_, T>) {
    in_columns(threads, 0, b.transpose_mut(), &|_, part| {
        solve_lower_triangular_in_place_with_conj(l, Conj::Yes, part, Par::Seq);
    });
}
