//! The Schur form of any square matrix by the QR algorithm, and eigenvalues and eigenvectors, which follow from it.
//! Source: Golub and Van Loan, "Matrix Computations", chapter 7.

use super::dense::{C, Matrix, ONE, ZERO};
use super::reductions::hessenberg;

/// The limit of steps without an eigenvalue, after which the algorithm gives up.
const MOST_STEPS: usize = 60;

/// Returns a Hessenberg matrix `h` and the unitary `q` with `a = q h q^H`; `None` if some elements aren't finite.
fn hessenberg_form(a: &Matrix) -> Option<(Matrix, Matrix)> {
    let n = a.rows;
    if !(0..n).all(|i| (0..n).all(|j| a[(i, j)].0.is_finite() && a[(i, j)].1.is_finite())) {
        return None;
    }
    let (mut h, taus) = hessenberg(a.clone(), 0..n);
    let mut q = Matrix::unit(n, n);
    for k in (0..n.saturating_sub(1)).rev() {
        q.reflect(k + 1, k + 1, &h.tail_from(k + 2, k), taus[(0, k)]);
    }
    for j in 0..n {
        (j + 2..n).for_each(|i| h[(i, j)] = ZERO);
    }
    Some((h, q))
}

/// Returns the first row of the square block that ends with row `last` and has no zeros on its subdiagonal; elements
/// that are negligible compared to their neighbors on the diagonal are set to 0.
fn square(t: &mut Matrix, last: usize) -> usize {
    let small = |i: usize| {
        let beside = t[(i - 1, i - 1)].size() + t[(i, i)].size();
        t[(i, i - 1)].size() <= f64::EPSILON * beside || t[(i, i - 1)].size() < f64::MIN_POSITIVE
    };
    let first = (1..=last).rev().find(|&i| small(i)).unwrap_or(0);
    if first > 0 {
        t[(first, first - 1)] = ZERO;
    }
    first
}

/// Returns the triangular `t` and the unitary `q` with `a = q t q^H`, by single shifts; `None` if some elements aren't
/// finite or the algorithm doesn't converge.
pub(super) fn schur(a: &Matrix) -> Option<(Matrix, Matrix)> {
    let n = a.rows;
    let (mut t, mut q) = hessenberg_form(a)?;
    let mut last = n.saturating_sub(1);
    let mut steps = 0;
    while last > 0 {
        let first = square(&mut t, last);
        if first == last {
            (last, steps) = (last - 1, 0);
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        let shift =
            if steps % 10 == 0 { t[(last, last)] + C(t[(last, last - 1)].size(), 0.0) } else { shift(&t, last) };
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

/// Returns the eigenvalue of the last two rows and columns that is closer to the last element.
fn shift(t: &Matrix, last: usize) -> C {
    let [a, b, c, d] = [(last - 1, last - 1), (last - 1, last), (last, last - 1), (last, last)].map(|at| t[at]);
    let half = (a - d).scale(0.5);
    let product = b * c;
    // The sum with 0 makes a zero positive, so that its sign doesn't choose one of two roots.
    let square = half * half + product + ZERO;
    let root =
        crate::complex::unary(crate::scalar::ScalarOp::Sqrt, (square.0, square.1)).map_or(ZERO, |(x, y)| C(x, y));
    let below = if (half + root).size() >= (half - root).size() { half + root } else { half - root };
    if below == ZERO { d } else { d - product / below }
}

/// Returns the cosine and sine of the rotation that makes `(x, y)` a multiple of the first unit vector.
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

/// Does the same as [`schur`] for a real matrix, in real numbers, by double shifts: conjugate eigenvalues are 2x2
/// blocks on the diagonal of `t`, with two equal elements on the diagonal and two of opposite signs off it.
pub(super) fn real_schur(a: &Matrix) -> Option<(Matrix, Matrix)> {
    let n = a.rows;
    let (mut t, mut q) = hessenberg_form(a)?;
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let last = end - 1;
        let first = square(&mut t, last);
        if last - first < 2 {
            if first < last {
                standardize(&mut t, &mut q, first);
            }
            (end, steps) = (first, 0);
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        // The sum and the product of both shifts, which are the eigenvalues of the last two rows and columns.
        let h = |i: usize, j: usize| t[(i, j)].0;
        let mut sum = h(last - 1, last - 1) + h(last, last);
        let mut product = h(last - 1, last - 1) * h(last, last) - h(last - 1, last) * h(last, last - 1);
        if steps % 10 == 0 {
            let size = h(last, last - 1).abs() + h(last - 1, last - 2).abs();
            (sum, product) = (1.5 * size, size * size);
        }
        let next = first + 1;
        let mut column = [
            h(first, first) * (h(first, first) - sum) + h(first, next) * h(next, first) + product,
            h(next, first) * (h(first, first) + h(next, next) - sum),
            h(next, first) * h(next + 1, next),
        ];
        for k in first..last {
            let size = (last - k + 1).min(3);
            let (tail, tau) = reflector(&column[..size]);
            let tail: Vec<C> = tail[..size - 1].iter().map(|&v| C(v, 0.0)).collect();
            t.reflect(k, k.max(first + 1) - 1, &tail, tau);
            t.reflect_right(k, 0..(k + 4).min(end), &tail, tau);
            q.reflect_right(k, 0..n, &tail, tau);
            if k > first {
                (k + 1..k + size).for_each(|i| t[(i, k - 1)] = ZERO);
            }
            for (i, to) in column.iter_mut().enumerate() {
                *to = if k + 1 + i < end { t[(k + 1 + i, k)].0 } else { 0.0 };
            }
        }
    }
    Some((t, q))
}

/// Returns the vector of the reflector that makes `x` a multiple of the first unit vector, without its first element,
/// which is 1, and the reflector's factor.
fn reflector(x: &[f64]) -> ([f64; 2], C) {
    let rest = x[1..].iter().fold(0.0f64, |s, v| s.hypot(*v));
    if rest == 0.0 {
        return ([0.0; 2], ZERO);
    }
    let beta = -x[0].hypot(rest).copysign(x[0]);
    let mut tail = [0.0; 2];
    tail.iter_mut().zip(&x[1..]).for_each(|(to, v)| *to = v / (x[0] - beta));
    (tail, C((beta - x[0]) / beta, 0.0))
}

/// Rotates the 2x2 block of rows from `k` on so that it is triangular, or has equal diagonal elements and off-diagonal
/// elements of opposite signs.
fn standardize(t: &mut Matrix, q: &mut Matrix, k: usize) {
    let [a, b, c, d] = [(k, k), (k, k + 1), (k + 1, k), (k + 1, k + 1)].map(|at| t[at].0);
    // The block is `mean + [p, q + r; q - r, -p]`; a rotation changes only p and q, but not `p^2 + q^2`.
    let (p, mean, sum, r) = ((a - d) / 2.0, (a + d) / 2.0, (b + c) / 2.0, (b - c) / 2.0);
    let scale = p.abs().max(b.abs()).max(c.abs());
    let root = p / scale * p + b / scale * c;
    let h = p.hypot(sum);
    let conjugate = root < 0.0 && h < r.abs();
    let (cos, sin) = if !conjugate {
        // The first column becomes the eigenvector of the value that is farther from the last element.
        let along = p + (scale.sqrt() * root.max(0.0).sqrt()).copysign(p);
        let length = along.hypot(c);
        (along / length, c / length)
    } else if p == 0.0 {
        (1.0, 0.0)
    } else {
        let cos = ((1.0 + sum.abs() / h) / 2.0).sqrt();
        (cos, -p * sum.signum() / (2.0 * h * cos))
    };
    let turn = |x: &mut C, y: &mut C| {
        let (old, other) = (x.0, y.0);
        (x.0, y.0) = (cos * old + sin * other, cos * other - sin * old);
    };
    for j in k..t.columns {
        let (mut x, mut y) = (t[(k, j)], t[(k + 1, j)]);
        turn(&mut x, &mut y);
        (t[(k, j)], t[(k + 1, j)]) = (x, y);
    }
    let columns = |m: &mut Matrix, until: usize| {
        for i in 0..until {
            let (mut x, mut y) = (m[(i, k)], m[(i, k + 1)]);
            turn(&mut x, &mut y);
            (m[(i, k)], m[(i, k + 1)]) = (x, y);
        }
    };
    columns(t, k + 2);
    columns(q, q.rows);
    if conjugate {
        let across = h.copysign(sum);
        (t[(k, k)], t[(k + 1, k + 1)]) = (C(mean, 0.0), C(mean, 0.0));
        (t[(k, k + 1)], t[(k + 1, k)]) = (C(across + r, 0.0), C(across - r, 0.0));
    } else {
        t[(k + 1, k)] = ZERO;
    }
}

/// Returns the real and the imaginary parts of the eigenvalues on the diagonal of [`real_schur`]'s triangular matrix.
pub(super) fn real_schur_values(t: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let re = (0..t.rows).map(|i| t[(i, i)].0).collect();
    let mut im = vec![0.0; t.rows];
    for i in 1..t.rows {
        let size = t[(i, i - 1)].0.abs().sqrt() * t[(i - 1, i)].0.abs().sqrt();
        if t[(i, i - 1)] != ZERO {
            (im[i - 1], im[i]) = (size, -size);
        }
    }
    (re, im)
}

/// Returns eigenvalues and, as columns, left and right eigenvectors, each of length 1 with a positive largest element.
/// For a real matrix they are in ascending order of real parts, and of conjugate values the one with a positive
/// imaginary part comes first; for a complex matrix they are in the order in which the algorithm finds them, as in
/// LAPACK. `None` if it doesn't converge.
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
            shrink(&mut right, i);
        }
        for i in k + 1..n {
            let sum = (k..i).fold(ZERO, |s, j| s + t[(j, i)].conj() * left[j]);
            left[i] = ZERO - sum / apart(t[(i, i)], t[(k, k)]).conj();
            shrink(&mut left, i);
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
            // A real eigenvalue of a real matrix has real vectors.
            if real && value.1 == 0.0 {
                (0..n).for_each(|i| to[(i, j)].1 = 0.0);
            }
        }
    }
    Some((found.into_iter().map(|f| f.0).collect(), left, right))
}

/// Scales the vector of a repeated eigenvalue so that it doesn't overflow.
fn shrink(vector: &mut [C], newest: usize) {
    let size = vector[newest].size();
    if size > 1e100 {
        vector.iter_mut().for_each(|v| *v = v.scale(1.0 / size));
    }
}

/// Makes the eigenvalues of a real matrix real or exactly conjugate.
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
#[path = "schur_tests.rs"]
mod tests;
