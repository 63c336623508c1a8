//! Householder reflectors `I - tau v v^H` in blocks: the product of several is `I - V T V^H` with an upper triangle T.
//! `v` begins with 1 and continues below the diagonal of a matrix, as in LAPACK.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, ColMut, Mat, MatMut, MatRef, Par};
use rustfft::num_complex::Complex;

use super::super::field::Field;
use super::blocks::in_columns;

const RECTANGULAR: BlockStructure = BlockStructure::Rectangular;
const UPPER: BlockStructure = BlockStructure::TriangularUpper;
const LOWER: BlockStructure = BlockStructure::TriangularLower;
const UNIT_UPPER: BlockStructure = BlockStructure::UnitTriangularUpper;
const UNIT_LOWER: BlockStructure = BlockStructure::UnitTriangularLower;

/// Decomposes a matrix with at least as many rows as columns: R is stored above the reflectors. `t` becomes their
/// triangle, with their factors on its diagonal.
pub(super) fn factor<T: Field>(a: MatMut<'_, T>, mut t: MatMut<'_, T>) {
    let (m, n) = (a.nrows(), a.ncols());
    if n == 0 {
        return;
    }
    if n == 1 {
        t[(0, 0)] = reflector(a.col_mut(0));
        return;
    }
    let half = n / 2;
    let (t_left, t_right) = t.rb_mut().split_at_col_mut(half);
    let (mut first, (mut across, mut second)) = (t_left.subrows_mut(0, half), t_right.split_at_row_mut(half));
    let (mut left, mut right) = a.split_at_col_mut(half);
    factor(left.rb_mut(), first.rb_mut());
    apply(1, left.rb(), first.rb(), true, right.rb_mut());
    let mut below = right.subrows_mut(half, m - half);
    factor(below.rb_mut(), second.rb_mut());
    // T = [T1, -T1 (V1^H V2) T2; 0, T2]; the rows above the second half of V are 0.
    let (v1, v2) = (left.rb().subrows(half, m - half), below.rb());
    let (v1_top, v1_rest) = v1.split_at_row(n - half);
    let (v2_top, v2_rest) = v2.split_at_row(n - half);
    triangular::matmul(
        across.rb_mut(),
        RECTANGULAR,
        Accum::Replace,
        v1_top.adjoint(),
        RECTANGULAR,
        v2_top,
        UNIT_LOWER,
        T::one(),
        Par::Seq,
    );
    matmul(across.rb_mut(), Accum::Add, v1_rest.adjoint(), v2_rest, T::one(), Par::Seq);
    let mut product = Mat::zeros(half, n - half);
    triangular::matmul(
        product.as_mut(),
        RECTANGULAR,
        Accum::Replace,
        first.rb(),
        UPPER,
        across.rb(),
        RECTANGULAR,
        -T::one(),
        Par::Seq,
    );
    triangular::matmul(
        across,
        RECTANGULAR,
        Accum::Replace,
        product.as_ref(),
        RECTANGULAR,
        second.rb(),
        UPPER,
        T::one(),
        Par::Seq,
    );
}

/// Makes a column a multiple of the first unit vector, and stores it in place with the rest of `v`. Returns the factor.
pub(super) fn reflector<T: Field>(mut column: ColMut<'_, T>) -> T {
    let n = column.nrows();
    let head = column[0].wide();
    let rest = size((1..n).map(|i| column[i].wide()));
    if rest == 0.0 && head.im == 0.0 {
        return T::zeroed();
    }
    // The new first element is real and has the opposite sign, so that nothing cancels.
    let beta = -head.re.hypot(head.im).hypot(rest).copysign(head.re);
    let scale = T::narrow(1.0 / (head - beta));
    for i in 1..n {
        column[i] *= scale;
    }
    column[0] = T::narrow(beta.into());
    T::narrow(Complex::new((beta - head.re) / beta, -head.im / beta))
}

/// Returns the length of a vector.
pub(super) fn size(values: impl Iterator<Item = Complex<f64>> + Clone) -> f64 {
    let squares: f64 = values.clone().map(|v| v.norm_sqr()).sum();
    if (1e-280..1e280).contains(&squares) || squares.is_nan() {
        return squares.sqrt();
    }
    let largest = values.clone().map(|v| v.re.abs().max(v.im.abs())).fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * values.map(|v| (v / largest).norm_sqr()).sum::<f64>().sqrt()
}

/// Returns the triangle of reflectors with these factors.
pub(super) fn triangle<T: Field>(v: MatRef<'_, T>, taus: &[T]) -> Mat<T> {
    let k = v.ncols();
    let (top, rest) = v.split_at_row(k);
    let mut products = Mat::zeros(k, k);
    triangular::matmul(
        products.as_mut(),
        RECTANGULAR,
        Accum::Replace,
        top.adjoint(),
        UNIT_UPPER,
        top,
        UNIT_LOWER,
        T::one(),
        Par::Seq,
    );
    matmul(products.as_mut(), Accum::Add, rest.adjoint(), rest, T::one(), Par::Seq);
    let mut t = Mat::zeros(k, k);
    for j in 0..k {
        for i in 0..j {
            let sum = (i..j).fold(T::zeroed(), |s: T, l| s + t[(i, l)] * products[(l, j)]);
            t[(i, j)] = -(taus[j] * sum);
        }
        t[(j, j)] = taus[j];
    }
    t
}

/// Multiplies `c` from the left by the product of reflectors, or by its adjoint.
pub(super) fn apply<T: Field>(threads: usize, v: MatRef<'_, T>, t: MatRef<'_, T>, adjoint: bool, c: MatMut<'_, T>) {
    let k = v.ncols();
    let (top, rest) = v.split_at_row(k);
    in_columns(threads, 0, c, &|_, c| {
        let n = c.ncols();
        let (mut above, mut below) = c.split_at_row_mut(k);
        let (mut inner, mut turned) = (Mat::<T>::zeros(k, n), Mat::<T>::zeros(k, n));
        let (one, all) = (T::one(), RECTANGULAR);
        triangular::matmul(
            inner.as_mut(),
            all,
            Accum::Replace,
            top.adjoint(),
            UNIT_UPPER,
            above.rb(),
            all,
            one,
            Par::Seq,
        );
        matmul(inner.as_mut(), Accum::Add, rest.adjoint(), below.rb(), one, Par::Seq);
        if adjoint {
            triangular::matmul(
                turned.as_mut(),
                all,
                Accum::Replace,
                t.adjoint(),
                LOWER,
                inner.as_ref(),
                all,
                one,
                Par::Seq,
            );
        } else {
            triangular::matmul(turned.as_mut(), all, Accum::Replace, t, UPPER, inner.as_ref(), all, one, Par::Seq);
        }
        triangular::matmul(above.rb_mut(), all, Accum::Add, top, UNIT_LOWER, turned.as_ref(), all, -one, Par::Seq);
        matmul(below.rb_mut(), Accum::Add, rest, turned.as_ref(), -one, Par::Seq);
    });
}
