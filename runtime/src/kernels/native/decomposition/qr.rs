//! QR decompositions as reflectors, and the first columns of their product.

use std::marker::PhantomData;

use faer::Mat;
use faer::prelude::{Reborrow, ReborrowMut};

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;
use super::blocks::{read, write};
use super::reflectors::{apply, factor, triangle};

/// Number of reflectors that are applied together.
const BLOCK: usize = 48;

pub(super) struct Qr<T> {
    rows: usize,
    columns: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Qr<T> {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, of: PhantomData }
    }
}

impl<T: Field> Decompose for Qr<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let mut a = read::<T>(operands[0].elements(), self.rows, self.columns);
        let taus: &mut [T] = results[1].elements();
        let count = self.rows.min(self.columns);
        for k in (0..count).step_by(BLOCK) {
            let size = BLOCK.min(count - k);
            let rows = a.as_mut().subrows_mut(k, self.rows - k);
            let (mut panel, after) = rows.subcols_mut(k, self.columns - k).split_at_col_mut(size);
            let mut t = Mat::zeros(size, size);
            factor(panel.rb_mut(), t.as_mut());
            apply(threads, panel.rb(), t.as_ref(), true, after);
            (0..size).for_each(|i| taus[k + i] = t[(i, i)]);
        }
        write(a.as_ref(), results[0].elements());
    }
}

pub(super) struct Product<T> {
    rows: usize,
    columns: usize,
    /// Number of reflectors.
    count: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Product<T> {
    pub(super) fn new(rows: usize, columns: usize, count: usize) -> Self {
        Self { rows, columns, count, of: PhantomData }
    }
}

impl<T: Field> Decompose for Product<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let a = read::<T>(operands[0].elements(), self.rows, self.columns);
        let taus: &[T] = operands[1].elements();
        let mut q = Mat::<T>::identity(self.rows, self.columns);
        for k in (0..self.count).step_by(BLOCK).rev() {
            let size = BLOCK.min(self.count - k);
            let v = a.as_ref().submatrix(k, k, self.rows - k, size);
            let t = triangle(v, &taus[k..k + size]);
            // The rows and columns before these are still those of the unit matrix.
            let rest = q.as_mut().submatrix_mut(k, k, self.rows - k, self.columns - k);
            apply(threads, v, t.as_ref(), false, rest);
        }
        write(q.as_ref(), results[0].elements());
    }
}

/// Multiplies a matrix by the product of reflectors.
pub(super) struct Reflect<T> {
    /// The size of the matrix.
    rows: usize,
    columns: usize,
    /// Number of reflectors.
    count: usize,
    left: bool,
    adjoint: bool,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> Reflect<T> {
    pub(super) fn new([rows, columns]: [usize; 2], count: usize, left: bool, adjoint: bool) -> Self {
        Self { rows, columns, count, left, adjoint, of: PhantomData }
    }
}

impl<T: Field> Decompose for Reflect<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) {
        let side = if self.left { self.rows } else { self.columns };
        let of = operands[0].elements::<T>();
        let a = read::<T>(of, side, of.len().checked_div(side).unwrap_or(0));
        let taus: &[T] = operands[1].elements();
        let mut c = read::<T>(operands[2].elements(), self.rows, self.columns);
        if !self.left {
            c = c.adjoint().to_owned();
        }
        let adjoint = self.adjoint == self.left;
        let blocks = self.count.div_ceil(BLOCK);
        for block in 0..blocks {
            let k = BLOCK * if adjoint { block } else { blocks - 1 - block };
            let size = BLOCK.min(self.count - k);
            let v = a.as_ref().submatrix(k, k, side - k, size);
            let t = triangle(v, &taus[k..k + size]);
            let rest = c.as_mut().subrows_mut(k, side - k);
            apply(threads, v, t.as_ref(), adjoint, rest);
        }
        if !self.left {
            c = c.adjoint().to_owned();
        }
        write(c.as_ref(), results[0].elements());
    }
}
