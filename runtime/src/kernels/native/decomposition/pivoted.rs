//! QR decompositions with column pivoting: the next column is the one with the largest remaining length.

use std::marker::PhantomData;

use faer::prelude::{Reborrow, ReborrowMut};
use faer::{ColMut, ColRef, MatMut};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{in_columns, read, write};
use super::reflectors::{reflector, size};

pub(super) struct PivotedQr<T> {
    rows: usize,
    columns: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> PivotedQr<T> {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, of: PhantomData }
    }
}

impl<T: Field> Decompose for PivotedQr<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let (m, n) = (self.rows, self.columns);
        let mut a = read::<T>(operands[0].elements(), m, n);
        let mut order: Vec<usize> = (0..n).collect();
        let mut first = 0;
        for (j, _) in operands[1].elements::<i32>().iter().enumerate().filter(|f| *f.1 != 0) {
            swap(a.as_mut(), first, j);
            order.swap(first, j);
            first += 1;
        }
        let taus: &mut [T] = results[2].elements();
        for (k, to) in taus.iter_mut().enumerate() {
            if k >= first {
                // Lengths are computed anew from the remaining rows instead of being updated, so that they don't lose
                // digits.
                let rest = a.as_ref().submatrix(k, k, m - k, n - k);
                let mut longest = (0, -1.0);
                for (j, column) in rest.col_iter().enumerate() {
                    let this = size((0..m - k).map(|i| column[i].wide()));
                    if this > longest.1 {
                        longest = (j, this);
                    }
                }
                swap(a.as_mut(), k, k + longest.0);
                order.swap(k, k + longest.0);
            }
            let (left, right) = a.as_mut().submatrix_mut(k, k, m - k, n - k).split_at_col_mut(1);
            let mut v = left.col_mut(0);
            *to = reflector(v.rb_mut());
            let (v, tau) = (v.rb(), to.conjugate());
            in_columns(threads, 0, right, &|_, mut part| {
                (0..part.ncols()).for_each(|j| reflect(v, tau, part.rb_mut().col_mut(j)));
            });
        }
        write(a.as_ref(), results[0].elements());
        let to: &mut [i32] = results[1].elements();
        to.iter_mut().zip(order).for_each(|(to, j)| *to = j as i32 + 1);
    }
}

/// Applies a reflector to a column. The first element of the reflector's vector counts as 1.
fn reflect<T: Field>(v: ColRef<'_, T>, tau: T, mut x: ColMut<'_, T>) {
    let n = x.nrows();
    let sum = (1..n).fold(x[0], |sum, i| sum + v[i].conjugate() * x[i]);
    let by = tau * sum;
    x[0] -= by;
    (1..n).for_each(|i| x[i] -= v[i] * by);
}

fn swap<T: Field>(mut a: MatMut<'_, T>, i: usize, j: usize) {
    for row in 0..if i == j { 0 } else { a.nrows() } {
        let (x, y) = (a[(row, i)], a[(row, j)]);
        (a[(row, i)], a[(row, j)]) = (y, x);
    }
}
