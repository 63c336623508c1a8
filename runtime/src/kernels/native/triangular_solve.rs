//! `triangular_solve` by faer.

use std::marker::PhantomData;

use dialect::ir::TensorType;
use dialect::kernel::TriangularForm;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place_with_conj, solve_unit_lower_triangular_in_place_with_conj,
    solve_unit_upper_triangular_in_place_with_conj, solve_upper_triangular_in_place_with_conj,
};
use faer::{Conj, MatMut, MatRef, Par};

use super::field::{Field, for_field};
use super::{Native, View, ViewMut, share};

struct Solve<T> {
    form: TriangularForm,
    rows: usize,
    columns: usize,
    of: PhantomData<fn() -> T>,
}

/// The number of columns of a right-hand side that are worth a thread.
const LEAST: usize = 64;

pub(super) fn of(form: TriangularForm, b: &TensorType) -> Option<Box<dyn Native>> {
    let size = |back: usize| b.shape[b.rank() - back].max(0) as usize;
    for_field!(b.element, Solve { form: form, rows: size(2), columns: size(1) })
}

impl<T: Field> Native for Solve<T> {
    fn run(&self, operands: &[View<'_>], results: &mut [ViewMut<'_>], threads: usize) -> Result<(), String> {
        let n = if self.form.left { self.rows } else { self.columns };
        let (a, b): (&[T], &[T]) = (operands[0].elements(), operands[1].elements());
        let (matrix, size) = (n * n, self.rows * self.columns);
        let to: &mut [T] = results[0].elements();
        let inner = if size > 0 && to.len() / size >= threads { 1 } else { threads };
        share(threads, size, to, |first, part| {
            for (i, x) in part.chunks_exact_mut(size.max(1)).enumerate() {
                x.copy_from_slice(&b[(first + i) * size..][..size]);
                self.solve(MatRef::from_row_major_slice(&a[(first + i) * matrix..][..matrix], n, n), x, inner);
            }
        });
        Ok(())
    }
}

impl<T: Field> Solve<T> {
    fn solve(&self, a: MatRef<'_, T>, x: &mut [T], threads: usize) {
        let form = self.form;
        let x = MatMut::from_row_major_slice_mut(x, self.rows, self.columns);
        // `x m = b` is the transpose of `m^T x^T = b^T`.
        let x = if form.left { x } else { x.transpose_mut() };
        let a = if form.transposed == form.left { a.transpose() } else { a };
        let lower = (form.lower != form.transposed) == form.left;
        let conj = if form.conjugated { Conj::Yes } else { Conj::No };
        let solve: fn(MatRef<'_, T>, Conj, MatMut<'_, T>, Par) = match (lower, form.unit) {
            (true, false) => solve_lower_triangular_in_place_with_conj,
            (true, true) => solve_unit_lower_triangular_in_place_with_conj,
            (false, false) => solve_upper_triangular_in_place_with_conj,
            (false, true) => solve_unit_upper_triangular_in_place_with_conj,
        };
        columns(threads, x, &|x| solve(a, conj, x, Par::Seq));
    }
}

/// Calls `solve` for the columns of `x`, divided among threads.
fn columns<T: Field>(threads: usize, x: MatMut<'_, T>, solve: &(dyn Fn(MatMut<'_, T>) + Sync)) {
    if threads <= 1 || x.ncols() < 2 * LEAST {
        return solve(x);
    }
    let half = x.ncols() / 2;
    let (left, right) = x.split_at_col_mut(half);
    rayon::join(|| columns(threads / 2, left, solve), || columns(threads.div_ceil(2), right, solve));
}
