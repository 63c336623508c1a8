//! Reduces matrices to Hessenberg and tridiagonal form by reflectors, some columns at a time: products of matrices
//! apply these reflectors to the columns after them. Source: Golub and Van Loan, "Matrix Computations", 7.4 and 8.3.

use std::marker::PhantomData;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::Conjugate;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{read, subtract_product, write};
use super::reflectors::{apply, reflector, triangle};

/// Number of columns that are reduced together.
const BLOCK: usize = 32;

/// Reduces rows and columns `range` to Hessenberg form, above the reflectors' vectors. `taus` become the reflectors'
/// factors. The matrix must already be triangular outside of the range.
pub(super) fn hessenberg<T: Field>(threads: usize, mut a: MatMut<'_, T>, range: Range<usize>, taus: &mut [T]) {
    let (n, end) = (a.ncols(), range.end);
    let mut k = range.start;
    while k + 1 < end {
        let size = BLOCK.min(end - 1 - k);
        // The reflectors' product is `I - V T V^H`: these are V, T, and the original matrix times V T.
        let mut v = Mat::<T>::zeros(end - k - 1, size);
        let mut t = Mat::<T>::zeros(size, size);
        let mut y = Mat::<T>::zeros(end, size);
        for j in 0..size {
            let column = k + j;
            if j > 0 {
                let (v, y) = (v.as_ref().subcols(0, j), y.as_ref().subcols(0, j));
                let mut x = a.rb_mut().submatrix_mut(0, column, end, 1);
                let row = v.subrows(j - 1, 1);
                matmul(x.rb_mut(), Accum::Add, y, row.adjoint(), -T::one(), Par::Seq);
                let below = x.subrows_mut(k + 1, end - k - 1);
                let inner = product(v.adjoint(), below.rb());
                let inner = product(t.as_ref().submatrix(0, 0, j, j).adjoint(), inner.as_ref());
                matmul(below, Accum::Add, v, inner.as_ref(), -T::one(), Par::Seq);
            }
            let tau = head(a.rb_mut(), column, end, v.as_mut().col_mut(j).subrows_mut(j, end - column - 1));
            taus[column] = tau;
            let here = v.as_ref().submatrix(j, j, end - column - 1, 1);
            let mut new = product(a.rb().submatrix(0, column + 1, end, end - column - 1), here);
            if j > 0 {
                let before = v.as_ref().subcols(0, j);
                let inner = product(before.adjoint(), v.as_ref().subcols(j, 1));
                matmul(new.as_mut(), Accum::Add, y.as_ref().subcols(0, j), inner.as_ref(), -T::one(), Par::Seq);
                let above = product(t.as_ref().submatrix(0, 0, j, j), inner.as_ref());
                (0..j).for_each(|i| t[(i, j)] = -(tau * above[(i, 0)]));
            }
            (0..end).for_each(|i| y[(i, j)] = tau * new[(i, 0)]);
            t[(j, j)] = tau;
        }
        let after = k + size;
        let to = a.rb_mut().submatrix_mut(0, after, end, end - after);
        subtract_product(threads, to, y.as_ref(), v.as_ref().subrows(size - 1, end - after).adjoint());
        let (vectors, rest) = a.rb_mut().split_at_col_mut(after);
        let vectors = vectors.rb().submatrix(k + 1, k, end - k - 1, size);
        let rest = rest.subrows_mut(k + 1, end - k - 1);
        if rest.ncols() > 0 {
            debug_assert_eq!(rest.ncols(), n - after);
            apply(threads, vectors, t.as_ref(), true, rest);
        }
        k = after;
    }
}

/// Returns the product of [`hessenberg`]'s reflectors.
pub(super) fn unitary<T: Field>(threads: usize, a: MatRef<'_, T>, taus: &[T]) -> Mat<T> {
    let n = a.nrows();
    let mut q = Mat::<T>::identity(n, n);
    let count = n.saturating_sub(1);
    for k in (0..count).step_by(BLOCK).rev() {
        let size = BLOCK.min(count - k);
        let v = a.submatrix(k + 1, k, n - k - 1, size);
        let t = triangle(v, &taus[k..k + size]);
        let rest = q.as_mut().submatrix_mut(k + 1, k + 1, n - k - 1, n - k - 1);
        apply(threads, v, t.as_ref(), false, rest);
    }
    q
}

/// Makes the elements below the diagonal of a column, until row `end`, a multiple of the first unit vector, above the
/// rest of the reflector's vector. The whole vector is stored in `v`. Returns the reflector's factor.
fn head<T: Field>(a: MatMut<'_, T>, column: usize, end: usize, mut v: faer::ColMut<'_, T>) -> T {
    let mut x = a.col_mut(column).subrows_mut(column + 1, end - column - 1);
    let tau = reflector(x.rb_mut());
    v.copy_from(x.rb());
    v[0] = T::one();
    tau
}

fn product<T: Field>(lhs: MatRef<'_, impl Conjugate<Canonical = T>>, rhs: MatRef<'_, T>) -> Mat<T> {
    let mut to = Mat::zeros(lhs.nrows(), rhs.ncols());
    matmul(to.as_mut(), Accum::Replace, lhs, rhs, T::one(), Par::Seq);
    to
}

pub(super) struct Hessenberg<T> {
    n: usize,
    range: Range<usize>,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Hessenberg<T> {
    pub(super) fn new(n: usize, range: Range<usize>) -> Self {
        Self { n, range, of: PhantomData }
    }
}

impl<T: Field> Decompose for Hessenberg<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let mut a = read::<T>(operands[0].elements(), self.n, self.n);
        let taus: &mut [T] = results[1].elements();
        taus.fill(T::zeroed());
        hessenberg(threads, a.as_mut(), self.range.clone(), taus);
        write(a.as_ref(), results[0].elements());
        results[2].elements::<i32>()[0] = 0;
    }
}

pub(super) struct Tridiagonal<T> {
    n: usize,
    lower: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Tridiagonal<T> {
    pub(super) fn new(n: usize, lower: bool) -> Self {
        Self { n, lower, of: PhantomData }
    }
}

impl<T: Field> Decompose for Tridiagonal<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let n = self.n;
        let [to, diagonal, beside, taus, info] = results else { return };
        let (from, to): (&[T], &mut [T]) = (operands[0].elements(), to.elements());
        to.copy_from_slice(from);
        info.elements::<i32>()[0] = 0;
        // With rows and columns in reverse order, the upper triangle is the lower one.
        let at = |i: usize, j: usize| if self.lower { i * n + j } else { (n - 1 - i) * n + n - 1 - j };
        let place = |i: usize, count: usize| if self.lower { i } else { count - 1 - i };
        let mut a = Mat::zeros(n, n);
        for i in 0..n {
            a[(i, i)] = T::narrow(from[at(i, i)].wide().re.into());
            for j in 0..i {
                a[(i, j)] = from[at(i, j)];
                a[(j, i)] = a[(i, j)].conjugate();
            }
        }
        let mut factors = vec![T::zeroed(); n.saturating_sub(1)];
        tridiagonal(threads, a.as_mut(), &mut factors);
        let (taus, last) = (taus.elements::<T>(), n.saturating_sub(1));
        (0..last).for_each(|i| taus[place(i, last)] = factors[i]);
        for i in 0..n {
            to[at(i, i)] = T::narrow(a[(i, i)].wide().re.into());
            (0..i).for_each(|j| to[at(i, j)] = a[(i, j)]);
        }
        T::write_real(diagonal.bytes, (0..n).map(|i| a[(place(i, n), place(i, n))].wide().re));
        let below = |i: usize| a[(place(i, last) + 1, place(i, last))].wide().re;
        T::write_real(beside.bytes, (0..last).map(below));
    }
}

/// Reduces a Hermitian matrix to tridiagonal form: its lower triangle becomes two diagonals, above the reflectors'
/// vectors.
fn tridiagonal<T: Field>(threads: usize, mut a: MatMut<'_, T>, taus: &mut [T]) {
    let n = a.nrows();
    let mut k = 0;
    while k + 1 < n {
        let size = BLOCK.min(n - 1 - k);
        // All reflectors together subtract `V W^H + W V^H` from the matrix, whose first row here is `k`.
        let rows = n - k;
        let mut v = Mat::<T>::zeros(rows, size);
        let mut w = Mat::<T>::zeros(rows, size);
        for j in 0..size {
            let column = k + j;
            if j > 0 {
                let mut x = a.rb_mut().submatrix_mut(column, column, n - column, 1);
                let (v, w) = (v.as_ref().submatrix(j, 0, rows - j, j), w.as_ref().submatrix(j, 0, rows - j, j));
                matmul(x.rb_mut(), Accum::Add, v, w.subrows(0, 1).adjoint(), -T::one(), Par::Seq);
                matmul(x, Accum::Add, w, v.subrows(0, 1).adjoint(), -T::one(), Par::Seq);
            }
            let tau = head(a.rb_mut(), column, n, v.as_mut().col_mut(j).subrows_mut(j + 1, rows - j - 1));
            taus[column] = tau;
            let (below, count) = (j + 1, rows - j - 1);
            let here = v.as_ref().submatrix(below, j, count, 1);
            let mut new = product(a.rb().submatrix(column + 1, column + 1, count, count), here);
            let (before, others) = (v.as_ref().submatrix(below, 0, count, j), w.as_ref().submatrix(below, 0, count, j));
            if j > 0 {
                for (lhs, rhs) in [(before, others), (others, before)] {
                    let inner = product(rhs.adjoint(), here);
                    matmul(new.as_mut(), Accum::Add, lhs, inner.as_ref(), -T::one(), Par::Seq);
                }
            }
            (0..count).for_each(|i| new[(i, 0)] *= tau);
            let along = product(new.as_ref().adjoint(), here)[(0, 0)];
            let half = T::narrow(0.5.into()) * tau * along;
            (0..count).for_each(|i| w[(below + i, j)] = new[(i, 0)] - half * here[(i, 0)]);
        }
        let (v, w) = (v.as_ref().subrows(size, rows - size), w.as_ref().subrows(size, rows - size));
        let mut rest = a.rb_mut().submatrix_mut(k + size, k + size, rows - size, rows - size);
        subtract_product(threads, rest.rb_mut(), v, w.adjoint());
        subtract_product(threads, rest, w, v.adjoint());
        k += size;
    }
}
