//! Solves tridiagonal systems by elimination, with LAPACK's swaps of neighboring rows.

use std::marker::PhantomData;

use super::super::field::Field;
use super::super::{View, ViewMut};
use super::Decompose;

pub(super) struct ThreeDiagonals<T> {
    /// Number of unknowns.
    n: usize,
    /// Number of systems with this matrix.
    columns: usize,
    of: PhantomData<fn() -> T>,
}

impl<T: Field> ThreeDiagonals<T> {
    pub(super) fn new(n: usize, columns: usize) -> Self {
        Self { n, columns, of: PhantomData }
    }
}

impl<T: Field> Decompose for ThreeDiagonals<T> {
    fn one(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], _: usize) {
        let [below, middle, above, b, info] = results else { return };
        for (to, from) in [&mut *below, middle, above, b].into_iter().zip(operands) {
            to.bytes.copy_from_slice(from.bytes);
        }
        let lines = [below.elements::<T>(), middle.elements(), above.elements()];
        let singular = solve(lines, b.elements(), self.n, self.columns);
        info.elements::<i32>()[0] = singular.map_or(0, |i| i as i32 + 1);
    }
}

/// Solves in place. Doesn't read the first element of the lower diagonal and the last of the upper one. Returns the
/// first pivot that is 0.
fn solve<T: Field>([below, middle, above]: [&mut [T]; 3], b: &mut [T], n: usize, columns: usize) -> Option<usize> {
    // LAPACK compares the sums of the magnitudes of real and imaginary parts.
    let size = |v: T| v.wide().re.abs() + v.wide().im.abs();
    for i in 0..n.saturating_sub(1) {
        let under = below[i + 1];
        let (row, next) = b[i * columns..(i + 2) * columns].split_at_mut(columns);
        below[i + 1] = T::zeroed();
        if size(middle[i]) >= size(under) {
            if size(middle[i]) == 0.0 {
                below[i + 1] = under;
                return Some(i);
            }
            let factor = under / middle[i];
            middle[i + 1] -= factor * above[i];
            next.iter_mut().zip(row).for_each(|(y, x)| *y -= factor * *x);
        } else {
            let factor = middle[i] / under;
            middle[i] = under;
            let beside = middle[i + 1];
            middle[i + 1] = above[i] - factor * beside;
            // The swap creates an element two above the diagonal.
            if i + 2 < n {
                below[i + 1] = above[i + 1];
                above[i + 1] = -(factor * above[i + 1]);
            }
            above[i] = beside;
            next.iter_mut().zip(row).for_each(|(y, x)| (*x, *y) = (*y, *x - factor * *y));
        }
    }
    if n > 0 && size(middle[n - 1]) == 0.0 {
        return Some(n - 1);
    }
    for i in (0..n).rev() {
        let (row, after) = b[i * columns..].split_at_mut(columns);
        for (j, x) in row.iter_mut().enumerate() {
            if i + 1 < n {
                *x -= above[i] * after[j];
            }
            if i + 2 < n {
                *x -= below[i + 1] * after[columns + j];
            }
            *x /= middle[i];
        }
    }
    None
}
