//! Matrices made Hessenberg, tridiagonal or triangular by reflectors, in LAPACK's forms, and systems with three diagonals.

use super::dense::{C, Matrix, ONE, ZERO};

/// A Hessenberg matrix above the reflectors' vectors, and the reflectors' factors. Rows and columns outside of `range` are
/// triangular already.
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

/// A tridiagonal matrix in the place of a Hermitian one, of which one triangle is read and holds the reflectors' vectors
/// then; its diagonal, the one beside it, and the reflectors' factors.
pub(super) fn tridiagonal(a: Matrix, lower: bool) -> (Matrix, Vec<f64>, Vec<f64>, Matrix) {
    let n = a.rows;
    // From the last row and column on, the upper triangle is the lower one.
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
    // All of the matrix, of which the triangle is taken in the end.
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

/// As `qr`, each step with the longest column that is left; those with a number other than 0 come first. Also the columns,
/// counted from 1.
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

/// `c` multiplied by the product of reflectors or by its adjoint, from the left or the right.
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

/// A system with three diagonals, the lower one's first element unused, solved in place with LAPACK's swaps of rows; what
/// becomes of the diagonals, and 0 or the first pivot that is 0.
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
            // The element two above the diagonal that the swap makes.
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

/// The triangle `t` and the unitary `q` with `a = q t q^H`, by the QR algorithm with single shifts; `None` if it doesn't
/// converge.
pub(super) fn schur(a: &Matrix) -> Option<(Matrix, Matrix)> {
    let n = a.rows;
    let (mut t, taus) = hessenberg(a.clone(), 0..n);
    let mut q = Matrix::unit(n, n);
    for k in (0..n.saturating_sub(1)).rev() {
        q.reflect(k + 1, k + 1, &t.tail_from(k + 2, k), taus[(0, k)]);
    }
    for j in 0..n {
        (j + 2..n).for_each(|i| t[(i, j)] = ZERO);
    }
    let mut last = n.saturating_sub(1);
    let mut turns = 0;
    while last > 0 {
        // What is negligible beside its neighbors on the diagonal is 0.
        let small = |t: &Matrix, i: usize| {
            let beside = t[(i - 1, i - 1)].size() + t[(i, i)].size();
            t[(i, i - 1)].size() <= f64::EPSILON * beside || t[(i, i - 1)].size() < f64::MIN_POSITIVE
        };
        let first = (1..=last).rev().find(|&i| small(&t, i)).unwrap_or(0);
        if first > 0 {
            t[(first, first - 1)] = ZERO;
        }
        if first == last {
            (last, turns) = (last - 1, 0);
            continue;
        }
        turns += 1;
        if turns > 60 {
            return None;
        }
        let shift =
            if turns % 10 == 0 { t[(last, last)] + C(t[(last, last - 1)].size(), 0.0) } else { shift(&t, last) };
        let (mut x, mut y) = (t[(first, first)] - shift, t[(first + 1, first)]);
        for k in first..last {
            let (c, s) = plane(x, y);
            let rows = |m: &mut Matrix, from: usize| {
                for j in from..n {
                    let (x, y) = (m[(k, j)], m[(k + 1, j)]);
                    m[(k, j)] = x.scale(c) + s * y;
                    m[(k + 1, j)] = y.scale(c) - s.conj() * x;
                }
            };
            let columns = |m: &mut Matrix, until: usize| {
                for i in 0..until {
                    let (x, y) = (m[(i, k)], m[(i, k + 1)]);
                    m[(i, k)] = x.scale(c) + s.conj() * y;
                    m[(i, k + 1)] = y.scale(c) - s * x;
                }
            };
            rows(&mut t, k.saturating_sub(1).max(first));
            columns(&mut t, (k + 3).min(last + 1));
            columns(&mut q, n);
            if k + 1 < last {
                (x, y) = (t[(k + 1, k)], t[(k + 2, k)]);
            }
        }
        for k in first..last.saturating_sub(1) {
            t[(k + 2, k)] = ZERO;
        }
    }
    Some((t, q))
}

/// The eigenvalue of the last two rows and columns that is nearer to the last element.
fn shift(t: &Matrix, last: usize) -> C {
    let [a, b, c, d] = [(last - 1, last - 1), (last - 1, last), (last, last - 1), (last, last)].map(|at| t[at]);
    let half = (a - d).scale(0.5);
    let product = b * c;
    let square = half * half + product;
    let root =
        crate::complex::unary(crate::scalar::ScalarOp::Sqrt, (square.0, square.1)).map_or(ZERO, |(x, y)| C(x, y));
    let below = if (half + root).size() >= (half - root).size() { half + root } else { half - root };
    if below == ZERO { d } else { d - product / below }
}

/// The cosine and sine of the rotation that makes `(x, y)` a multiple of the first unit vector.
fn plane(x: C, y: C) -> (f64, C) {
    let (a, b) = (x.size(), y.size());
    if b == 0.0 {
        return (1.0, ZERO);
    }
    if a == 0.0 {
        return (0.0, ONE);
    }
    let r = a.hypot(b);
    (a / r, x.scale(1.0 / a) * y.conj().scale(1.0 / r))
}

/// Eigenvalues and, as columns, left and right eigenvectors, each of length 1 with a positive largest element. Those of a
/// real matrix are in the order of rising real parts, of conjugate ones the one with a positive imaginary part first;
/// those of a complex one as the algorithm finds them, as in LAPACK. `None` if it doesn't converge.
pub(super) fn general_eigen(a: &Matrix) -> Option<(Vec<C>, Matrix, Matrix)> {
    let n = a.rows;
    let (t, q) = schur(a)?;
    let largest = (0..n).flat_map(|j| (0..=j).map(move |i| (i, j))).fold(0.0f64, |m, at| m.max(t[at].size()));
    let least = (f64::EPSILON * largest).max(f64::MIN_POSITIVE);
    let apart = |x: C, y: C| if (x - y).size() < least { C(least, 0.0) } else { x - y };
    let vector = |own: &[C]| {
        let mut v: Vec<C> = (0..n).map(|i| (0..n).fold(ZERO, |s, j| s + q[(i, j)] * own[j])).collect();
        let size = v.iter().fold(0.0f64, |s, x| s.hypot(x.size()));
        v.iter_mut().for_each(|x| *x = x.scale(1.0 / size));
        v
    };
    let mut found: Vec<(C, Vec<C>, Vec<C>)> = Vec::new();
    for k in 0..n {
        let (mut right, mut left) = (vec![ZERO; n], vec![ZERO; n]);
        (right[k], left[k]) = (ONE, ONE);
        for i in (0..k).rev() {
            let sum = (i + 1..=k).fold(ZERO, |s, j| s + t[(i, j)] * right[j]);
            right[i] = ZERO - sum / apart(t[(i, i)], t[(k, k)]);
        }
        for i in k + 1..n {
            let sum = (k..i).fold(ZERO, |s, j| s + t[(j, i)].conj() * left[j]);
            left[i] = ZERO - sum / apart(t[(i, i)], t[(k, k)]).conj();
        }
        found.push((t[(k, k)], vector(&left), vector(&right)));
    }
    let real = (0..n).all(|i| (0..n).all(|j| a[(i, j)].1 == 0.0));
    if real {
        found = pairs(found, largest);
        found.sort_by(|a, b| a.0.0.total_cmp(&b.0.0).then(b.0.1.total_cmp(&a.0.1)));
    }
    let (mut left, mut right) = (Matrix::new(n, n), Matrix::new(n, n));
    for (j, (value, l, r)) in found.iter().enumerate() {
        for (to, from) in [(&mut left, l), (&mut right, r)] {
            (0..n).for_each(|i| to[(i, j)] = from[i]);
            to.turn_phase(j);
            // A real matrix has real vectors beside real values.
            if real && value.1 == 0.0 {
                (0..n).for_each(|i| to[(i, j)].1 = 0.0);
            }
        }
    }
    Some((found.into_iter().map(|f| f.0).collect(), left, right))
}

/// The eigenvalues of a real matrix as real ones and exactly conjugate ones.
fn pairs(found: Vec<(C, Vec<C>, Vec<C>)>, largest: f64) -> Vec<(C, Vec<C>, Vec<C>)> {
    let flat = 1e-14 * largest;
    let conj = |v: &[C]| v.iter().map(|x| x.conj()).collect::<Vec<C>>();
    let mut list = Vec::new();
    for (value, left, right) in &found {
        if value.1.abs() <= flat {
            list.push((C(value.0, 0.0), left.clone(), right.clone()));
        } else if value.1 > 0.0 {
            list.push((*value, left.clone(), right.clone()));
            list.push((value.conj(), conj(left), conj(right)));
        }
    }
    if list.len() == found.len() { list } else { found }
}

#[cfg(test)]
#[path = "reductions_tests.rs"]
mod tests;
