//! Eigenvectors of Hermitian and of real matrices, and singular vectors. The phase of each vector is arbitrary, and is
//! chosen so that its largest element is positive.

use std::marker::PhantomData;

use bytemuck::Zeroable;
use faer::traits::RealField;
use faer::{ColMut, Mat, Side};
use rustfft::num_complex::Complex;

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{read, write};

pub(super) struct Eigh<T> {
    n: usize,
    lower: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Eigh<T> {
    pub(super) fn new(n: usize, lower: bool) -> Self {
        Self { n, lower, of: PhantomData }
    }
}

impl<T: Field> Decompose for Eigh<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) {
        let (n, from): (_, &[T]) = (self.n, operands[0].elements());
        let mut a = Mat::zeros(n, n);
        for j in 0..n {
            for i in j..n {
                a[(i, j)] = if self.lower { from[i * n + j] } else { from[j * n + i].conjugate() };
            }
            a[(j, j)] = T::narrow(a[(j, j)].wide().re.into());
        }
        if let Some(info) = results.get_mut(2) {
            info.elements::<i32>()[0] = 0;
        }
        if n == 0 {
            return;
        }
        let finite = (0..n).all(|j| (j..n).all(|i| a[(i, j)].is_number()));
        let found = if finite { a.self_adjoint_eigen(Side::Lower).ok() } else { None };
        let Some(found) = found else {
            results[0].elements::<T>().fill(T::narrow(Complex::new(f64::NAN, 0.0)));
            T::write_real(results[1].bytes, (0..n).map(|_| f64::NAN));
            return;
        };
        let mut vectors = found.U().to_owned();
        for j in 0..n {
            turn(vectors.col_mut(j));
        }
        write(vectors.as_ref(), results[0].elements());
        T::write_real(results[1].bytes, (0..n).map(|i| found.S()[i].wide().re));
    }
}

/// Eigenvalues of a real matrix, without left eigenvectors.
pub(super) struct Eigen<T> {
    n: usize,
    /// Whether to compute right eigenvectors.
    vectors: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Eigen<T> {
    pub(super) fn new(n: usize, vectors: bool) -> Self {
        Self { n, vectors, of: PhantomData }
    }
}

impl<T: Field + RealField> Decompose for Eigen<T>
where
    Complex<T>: Field,
{
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) {
        let (n, from): (_, &[T]) = (self.n, operands[0].elements());
        let [re, im, left, right, info] = results else { return };
        left.bytes.fill(0);
        right.bytes.fill(0);
        info.elements::<i32>()[0] = 0;
        if n == 0 {
            return;
        }
        let a = read::<T>(from, n, n);
        let finite = from.iter().all(|v| v.is_number());
        let found = if finite { faer::linalg::solvers::Eigen::new_from_real(a.as_ref()).ok() } else { None };
        let Some(found) = found else {
            info.elements::<i32>()[0] = n as i32;
            let nan = Complex::new(f64::NAN, f64::NAN);
            left.elements::<Complex<T>>().fill(Field::narrow(nan));
            right.elements::<Complex<T>>().fill(Field::narrow(nan));
            for to in [re, im] {
                T::write_real(to.bytes, (0..n).map(|_| f64::NAN));
            }
            return;
        };
        let values: Vec<Complex<f64>> = (0..n).map(|i| found.S()[i].wide()).collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&i, &j| values[i].re.total_cmp(&values[j].re).then(values[j].im.total_cmp(&values[i].im)));
        T::write_real(re.bytes, order.iter().map(|&i| values[i].re));
        T::write_real(im.bytes, order.iter().map(|&i| values[i].im));
        if !self.vectors {
            return;
        }
        let mut sorted = Mat::<Complex<T>>::zeros(n, n);
        for (j, &from) in order.iter().enumerate() {
            let column = found.U().col(from);
            let length = (0..n).map(|i| column[i].wide().norm_sqr()).sum::<f64>().sqrt();
            (0..n).for_each(|i| sorted[(i, j)] = Field::narrow(column[i].wide() / length));
            turn(sorted.col_mut(j));
        }
        write(sorted.as_ref(), right.elements());
    }
}

pub(super) struct Svd<T> {
    rows: usize,
    columns: usize,
    /// The numbers of left and of right singular vectors to compute, if any.
    sides: Option<(usize, usize)>,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Svd<T> {
    pub(super) fn new(rows: usize, columns: usize, sides: Option<(usize, usize)>) -> Self {
        Self { rows, columns, sides, of: PhantomData }
    }
}

impl<T: Field> Decompose for Svd<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) {
        let (m, n) = (self.rows, self.columns);
        let count = m.min(n);
        let from: &[T] = operands[0].elements();
        let [matrix, values, left, right, info] = results else { return };
        matrix.bytes.copy_from_slice(operands[0].bytes);
        info.elements::<i32>()[0] = 0;
        let nan = T::narrow(Complex::new(f64::NAN, 0.0));
        let lost = if self.sides.is_some() { nan } else { T::zeroed() };
        left.elements::<T>().fill(lost);
        right.elements::<T>().fill(lost);
        let finite = from.iter().all(|v| v.is_number());
        let a = read::<T>(from, m, n);
        let Some((lefts, rights)) = self.sides else {
            let found = if finite { a.singular_values().ok() } else { None };
            let sizes = found.unwrap_or_else(|| vec![T::nan_real(); count]);
            return T::write_real(values.bytes, sizes.into_iter().map(T::real_wide));
        };
        let thin = (lefts, rights) == (count, count);
        let found = match finite {
            true if thin => a.thin_svd().ok(),
            true => a.svd().ok(),
            false => None,
        };
        let Some(found) = found else {
            return T::write_real(values.bytes, (0..count).map(|_| f64::NAN));
        };
        T::write_real(values.bytes, (0..count).map(|i| found.S()[i].wide().re));
        let (mut u, mut v) = (found.U().to_owned(), found.V().to_owned());
        for j in 0..count {
            // The vectors of the longer side determine the phase.
            let (leading, other) = if m >= n { (&mut u, &mut v) } else { (&mut v, &mut u) };
            let by = turn(leading.col_mut(j));
            let mut column = other.col_mut(j);
            (0..column.nrows()).for_each(|i| column[i] *= by);
        }
        write(u.as_ref(), left.elements());
        let to: &mut [T] = right.elements();
        for j in 0..v.ncols() {
            (0..n).for_each(|i| to[j * n + i] = v[(i, j)].conjugate());
        }
    }
}

/// Makes the largest element of a column positive, and returns the factor.
pub(super) fn turn<T: Field>(mut column: ColMut<'_, T>) -> T {
    let n = column.nrows();
    let (mut largest, mut square) = (Complex::zeroed(), 0.0);
    for i in 0..n {
        // Of elements of nearly equal size, the first counts as the largest, so that rounding doesn't decide.
        let this = column[i].wide();
        if this.norm_sqr() > square {
            (largest, square) = (this, this.norm_sqr() * (1.0 + 2e-3));
        }
    }
    let size = largest.norm();
    let by = if size > 0.0 { T::narrow(largest.conj() / size) } else { T::narrow(1.0.into()) };
    if by != T::one() {
        (0..n).for_each(|i| column[i] *= by);
    }
    by
}
