//! `cholesky` by faer.

use std::marker::PhantomData;

use dialect::ir::TensorType;
use faer::{MatRef, Side};
use rustfft::num_complex::Complex;

use super::field::{Field, for_field};
use super::{Native, View, ViewMut, share};

struct Cholesky<T> {
    lower: bool,
    n: usize,
    of: PhantomData<fn() -> T>,
}

pub(super) fn of(lower: bool, a: &TensorType) -> Option<Box<dyn Native>> {
    for_field!(a.element, Cholesky { lower: lower, n: a.shape[a.rank() - 1].max(0) as usize })
}

impl<T: Field> Native for Cholesky<T> {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let (from, size): (&[T], _) = (operands[0].elements(), self.n * self.n);
        share(threads, size, results[0].elements::<T>(), |first, part| {
            for (i, to) in part.chunks_exact_mut(size.max(1)).enumerate() {
                self.factor(&from[(first + i) * size..][..size], to);
            }
        });
        Ok(())
    }
}

impl<T: Field> Cholesky<T> {
    fn factor(&self, from: &[T], to: &mut [T]) {
        let n = self.n;
        // faer reads the lower triangle. For an upper one, the matrix is transposed, which conjugates it.
        let matrix = MatRef::from_row_major_slice(from, n, n);
        let matrix = if self.lower { matrix } else { matrix.transpose() };
        let Ok(factors) = matrix.llt(Side::Lower) else { return self.stepwise(from, to) };
        let l = factors.L();
        for row in 0..n {
            for column in 0..n {
                // Rows of the upper factor are columns of the lower one. The two conjugations cancel.
                let (i, j) = if self.lower { (row, column) } else { (column, row) };
                to[row * n + column] = if i < j { T::zeroed() } else { l[(i, j)] };
            }
        }
    }

    /// Factors a matrix that isn't positive-definite up to the first pivot that has no root. From there on, all
    /// elements are NaN.
    fn stepwise(&self, from: &[T], to: &mut [T]) {
        let n = self.n;
        let get = |i: usize, j: usize| if self.lower { from[i * n + j].wide() } else { from[j * n + i].wide().conj() };
        let mut l = vec![Complex::new(0.0, 0.0); n * n];
        for j in 0..n {
            let square = (0..j).fold(get(j, j), |s, k| s - l[j * n + k] * l[j * n + k].conj());
            let pivot = if square.re > 0.0 { square.re.sqrt() } else { f64::NAN };
            l[j * n + j] = pivot.into();
            for i in j + 1..n {
                let sum = (0..j).fold(get(i, j), |s, k| s - l[i * n + k] * l[j * n + k].conj());
                l[i * n + j] = sum / pivot;
            }
        }
        for i in 0..n {
            for j in 0..n {
                let value = if self.lower { l[i * n + j] } else { l[j * n + i].conj() };
                to[i * n + j] = T::narrow(value);
            }
        }
    }
}
