//! Eigenvalues and eigenvectors of any square matrix from its Schur form, in double precision and in the reference's
//! order.

use std::marker::PhantomData;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::schur::{C, Columns, divide, schur};
use super::spectrum::turn;

pub(super) struct Eigen<T> {
    n: usize,
    /// Whether to compute left eigenvectors, and right ones.
    sides: [bool; 2],
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Eigen<T> {
    pub(super) fn new(n: usize, sides: [bool; 2]) -> Self {
        Self { n, sides, of: PhantomData }
    }
}

impl<T: Field> Decompose for Eigen<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let (n, from): (_, &[T]) = (self.n, operands[0].elements());
        let [values @ .., left, right, info] = results else { return };
        let a = Mat::from_fn(n, n, |i, j| from[i * n + j].wide());
        let Some((t, q)) = schur(threads, a, self.sides != [false; 2]) else {
            info.elements::<i32>()[0] = n as i32;
            for result in values.iter_mut().chain([left, right]) {
                let count = result.bytes.len();
                T::write_real(result.bytes, (0..count).map(|_| f64::NAN));
            }
            return;
        };
        info.elements::<i32>()[0] = 0;
        let found: Vec<C> = (0..n).map(|i| t.at(i, i)).collect();
        let largest =
            (0..n).flat_map(|j| (0..=j).map(move |i| (i, j))).fold(0.0f64, |m, (i, j)| m.max(t.at(i, j).norm()));
        let columns = if T::IS_REAL { of_real(&found, largest) } else { found.into_iter().enumerate().collect() };
        if T::IS_REAL {
            T::write_real(values[0].bytes, columns.iter().map(|c| c.1.re));
            T::write_real(values[1].bytes, columns.iter().map(|c| c.1.im));
        } else {
            T::write_real(values[0].bytes, columns.iter().flat_map(|c| [c.1.re, c.1.im]));
        }
        let least = (f64::EPSILON * largest).max(f64::MIN_POSITIVE);
        for (result, wanted, of) in [(left, self.sides[0], lefts as Side), (right, self.sides[1], rights)] {
            let Some(q) = q.as_ref().filter(|_| wanted) else {
                result.bytes.fill(0);
                continue;
            };
            let mut all = Mat::zeros(n, n);
            matmul(all.as_mut(), Accum::Replace, q.matrix(), of(&t, least).as_ref(), C::ONE, Par::Seq);
            let mut sorted = Mat::zeros(n, n);
            for (j, &(from, value)) in columns.iter().enumerate() {
                let column = all.col_as_slice(from);
                let length = column.iter().fold(0.0f64, |s, v| s.hypot(v.norm()));
                let conjugate = T::IS_REAL && value.im * t.at(from, from).im < 0.0;
                for (i, v) in column.iter().enumerate() {
                    sorted[(i, j)] = if conjugate { v.conj() / length } else { v / length };
                }
                turn(sorted.col_mut(j));
                // A real eigenvalue of a real matrix has real eigenvectors.
                if T::IS_REAL && value.im == 0.0 {
                    (0..n).for_each(|i| sorted[(i, j)].im = 0.0);
                }
            }
            let rows = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            T::write_real(result.bytes, rows.flat_map(|at| [sorted[at].re, sorted[at].im]));
        }
    }
}

/// Returns the eigenvalues of a real matrix in ascending order of real parts, each with its index in `found`. They are
/// either exactly real or exactly conjugate.
fn of_real(found: &[C], largest: f64) -> Vec<(usize, C)> {
    let mut list = Vec::new();
    for (i, &value) in found.iter().enumerate() {
        if value.im.abs() <= 1e-14 * largest {
            list.push((i, value.re.into()));
        } else if value.im > 0.0 {
            list.extend([(i, value), (i, value.conj())]);
        }
    }
    if list.len() != found.len() {
        list = found.iter().copied().enumerate().collect();
    }
    list.sort_by(|a, b| a.1.re.total_cmp(&b.1.re).then(b.1.im.total_cmp(&a.1.im)));
    list
}

type Side = fn(&Columns<C>, f64) -> Mat<C>;

/// Returns the difference of two eigenvalues; `least` if the difference is smaller, because they count as equal then.
fn apart(x: C, y: C, least: f64) -> C {
    if (x - y).norm() < least { least.into() } else { x - y }
}

/// Scales the vector of a repeated eigenvalue down before it overflows.
fn shrink(newest: C, vectors: [&mut [C]; 2]) {
    let size = newest.norm();
    if size > 1e100 {
        vectors.into_iter().flatten().for_each(|v| *v /= size);
    }
}

/// Returns the right eigenvectors of a triangle, as columns.
fn rights(t: &Columns<C>, least: f64) -> Mat<C> {
    let n = t.n;
    let m = t.matrix();
    let mut out = Mat::zeros(n, n);
    for k in 0..n {
        let x = &mut out.col_as_slice_mut(k)[..=k];
        x[k] = C::ONE;
        // The sums of the elements found so far, in the rows above them.
        let mut sums: Vec<C> = (0..k).map(|i| m[(i, k)]).collect();
        for i in (0..k).rev() {
            x[i] = divide(-sums[i], apart(m[(i, i)], m[(k, k)], least));
            shrink(x[i], [x, &mut sums[..i]]);
            let newest = x[i];
            sums[..i].iter_mut().enumerate().for_each(|(j, sum)| *sum += newest * m[(j, i)]);
        }
    }
    out
}

/// Returns the left eigenvectors of a triangle, as columns.
fn lefts(t: &Columns<C>, least: f64) -> Mat<C> {
    let n = t.n;
    let m = t.matrix();
    let mut out = Mat::zeros(n, n);
    for k in 0..n {
        let x = out.col_as_slice_mut(k);
        x[k] = C::ONE;
        for i in k + 1..n {
            let sum: C = (k..i).map(|j| m[(j, i)].conj() * x[j]).sum();
            x[i] = divide(-sum, apart(m[(i, i)], m[(k, k)], least).conj());
            shrink(x[i], [x, &mut []]);
        }
    }
    out
}
