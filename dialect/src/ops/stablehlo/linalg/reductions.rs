//! Reductions of matrices to Hessenberg, tridiagonal or triangular form by reflectors, in LAPACK's format, and
//! tridiagonal systems.

use super::dense::{C, Matrix, ZERO};

/// Returns a Hessenberg matrix above the reflectors' vectors, and the reflectors' factors. Rows and columns outside of
/// `range` are triangular already.
pub(super) fn hessenberg(mut a: Matrix, range: std::ops::Range<usize>) -> (Matrix, Matrix) {
    let n = a.rows;
    let mut taus = Matrix::new(1, n.saturating_sub(1));
    for k in range.start..range.end.saturating_sub(1).min(n) {
        let tau = a.reflector(k + 1, k, range.end);
        let tail: Vec<C> = (k + 2..range.end).map(|i| a[(i, k)]).collect();
        a.reflect_right(k + 1, 0..range.end, &tail, tau);
        a.reflect(k + 1, k + 1, &tail, tau.conj());
        taus[(0, k)] = tau;
    }
    (a, taus)
}

/// Returns a tridiagonal matrix in place of a Hermitian one, of which one triangle is read and then has the reflectors'
/// vectors; its diagonal, its off-diagonal, and the reflectors' factors.
pub(super) fn tridiagonal(a: Matrix, lower: bool) -> (Matrix, Vec<f64>, Vec<f64>, Matrix) {
    let n = a.rows;
    // With rows and columns in reverse order, the upper triangle is the lower one.
    let turned = |m: &Matrix| {
        let mut turned = Matrix::new(m.rows, m.columns);
        for i in 0..m.rows {
            for j in 0..m.columns {
                turned[(i, j)] = m[(m.rows - 1 - i, m.columns - 1 - j)];
            }
        }
        turned
    };
    if !lower {
        let (a, mut d, mut e, taus) = tridiagonal(turned(&a), true);
        d.reverse();
        e.reverse();
        return (turned(&a), d, e, turned(&taus));
    }
    // The full matrix, of which the triangle is copied at the end.
    let mut full = a.clone();
    for i in 0..n {
        full[(i, i)] = C(a[(i, i)].0, 0.0);
        (0..i).for_each(|j| full[(j, i)] = a[(i, j)].conj());
    }
    let (mut out, mut taus) = (a, Matrix::new(1, n.saturating_sub(1)));
    let mut beside = Vec::new();
    for k in 0..n.saturating_sub(1) {
        let tau = full.reflector(k + 1, k, n);
        let tail = full.tail_from(k + 2, k);
        full.reflect(k + 1, k + 1, &tail, tau.conj());
        full.reflect_right(k + 1, k + 1..n, &tail, tau);
        (k + 1..n).for_each(|i| out[(i, k)] = full[(i, k)]);
        beside.push(full[(k + 1, k)].0);
        taus[(0, k)] = tau;
    }
    let diagonal: Vec<f64> = (0..n).map(|i| full[(i, i)].0).collect();
    (0..n).for_each(|i| out[(i, i)] = C(diagonal[i], 0.0));
    (out, diagonal, beside, taus)
}

/// Does the same as `qr`, with the column of the largest remaining norm at each step; columns with a number other than
/// 0 in `fixed` come first. Also returns the columns' order, counted from 1.
pub(super) fn pivoted_qr(mut a: Matrix, fixed: &[i64]) -> (Matrix, Vec<usize>, Matrix) {
    let (m, n) = (a.rows, a.columns);
    let count = m.min(n);
    let mut order: Vec<usize> = (0..n).collect();
    let swap = |a: &mut Matrix, i: usize, j: usize| {
        (0..m).for_each(|row| {
            let (x, y) = (a[(row, i)], a[(row, j)]);
            (a[(row, i)], a[(row, j)]) = (y, x);
        });
    };
    let mut first = 0;
    for j in 0..n {
        if fixed.get(j).is_some_and(|&f| f != 0) {
            swap(&mut a, first, j);
            order.swap(first, j);
            first += 1;
        }
    }
    let mut taus = Matrix::new(1, count);
    for k in 0..count {
        if k >= first {
            let length = |j: usize| (k..m).fold(0.0f64, |s, i| s.hypot(a[(i, j)].size()));
            let longest = (k + 1..n).fold((k, length(k)), |best, j| {
                let this = length(j);
                if this > best.1 { (j, this) } else { best }
            });
            swap(&mut a, k, longest.0);
            order.swap(k, longest.0);
        }
        let tau = a.reflector(k, k, m);
        let tail = a.tail_from(k + 1, k);
        a.reflect(k, k + 1, &tail, tau.conj());
        taus[(0, k)] = tau;
    }
    (a, order.into_iter().map(|j| j + 1).collect(), taus)
}

/// Multiplies `c` by the product of reflectors or by its adjoint, from the left or the right.
pub(super) fn multiply(a: &Matrix, taus: &Matrix, c: Matrix, left: bool, adjoint: bool) -> Matrix {
    if !left {
        return multiply(a, taus, c.adjoint(), true, !adjoint).adjoint();
    }
    let mut c = c;
    let mut one = |k: usize| {
        let tau = taus[(0, k)];
        c.reflect(k, 0, &a.tail_from(k + 1, k), if adjoint { tau.conj() } else { tau });
    };
    if adjoint {
        (0..taus.columns).for_each(&mut one)
    } else {
        (0..taus.columns).rev().for_each(&mut one)
    }
    c
}

/// Solves a tridiagonal system in place, with LAPACK's swaps of rows; the lower diagonal's first element is unused.
/// Leaves the factored diagonals in place, and returns 0 or the number of the first zero pivot.
pub(super) fn three_diagonals(diagonals: [&mut [C]; 3], b: &mut Matrix) -> usize {
    let [below, middle, above] = diagonals;
    let n = middle.len();
    let size = |v: C| v.0.abs() + v.1.abs();
    for i in 0..n.saturating_sub(1) {
        let under = below[i + 1];
        if size(middle[i]) >= size(under) {
            if middle[i] == ZERO {
                return i + 1;
            }
            let factor = under / middle[i];
            middle[i + 1] = middle[i + 1] - factor * above[i];
            for j in 0..b.columns {
                b[(i + 1, j)] = b[(i + 1, j)] - factor * b[(i, j)];
            }
            below[i + 1] = ZERO;
        } else {
            let factor = middle[i] / under;
            middle[i] = under;
            let next = middle[i + 1];
            middle[i + 1] = above[i] - factor * next;
            // The swap creates an element two above the diagonal.
            below[i + 1] = ZERO;
            if i + 2 < n {
                below[i + 1] = above[i + 1];
                above[i + 1] = ZERO - factor * above[i + 1];
            }
            above[i] = next;
            for j in 0..b.columns {
                let (x, y) = (b[(i, j)], b[(i + 1, j)]);
                (b[(i, j)], b[(i + 1, j)]) = (y, x - factor * y);
            }
        }
    }
    if n > 0 && middle[n - 1] == ZERO {
        return n;
    }
    for i in (0..n).rev() {
        for j in 0..b.columns {
            let mut sum = b[(i, j)];
            if i + 1 < n {
                sum = sum - above[i] * b[(i + 1, j)];
            }
            if i + 2 < n {
                sum = sum - below[i + 1] * b[(i + 2, j)];
            }
            b[(i, j)] = sum / middle[i];
        }
    }
    0
}

#[cfg(test)]
#[path = "reductions_tests.rs"]
pub(super) mod tests;
