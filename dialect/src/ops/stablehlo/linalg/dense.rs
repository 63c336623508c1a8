//! Dense matrices of complex numbers in f64, and simple algorithms on them: the reference for the decompositions.

use crate::ir::TensorType;
use crate::kernel::TriangularForm;
use crate::literal::Literal;
use crate::scalar::Scalar;

/// A complex number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct C(pub f64, pub f64);

pub(super) const ZERO: C = C(0.0, 0.0);
pub(super) const ONE: C = C(1.0, 0.0);

impl C {
    pub(super) fn conj(self) -> C {
        C(self.0, -self.1)
    }

    pub(super) fn size(self) -> f64 {
        self.0.hypot(self.1)
    }

    pub(super) fn scale(self, by: f64) -> C {
        C(self.0 * by, self.1 * by)
    }
}

impl std::ops::Add for C {
    type Output = C;
    fn add(self, b: C) -> C {
        C(self.0 + b.0, self.1 + b.1)
    }
}

impl std::ops::Sub for C {
    type Output = C;
    fn sub(self, b: C) -> C {
        C(self.0 - b.0, self.1 - b.1)
    }
}

impl std::ops::Mul for C {
    type Output = C;
    fn mul(self, b: C) -> C {
        if self.1 == 0.0 && b.1 == 0.0 {
            return C(self.0 * b.0, 0.0);
        }
        C(self.0 * b.0 - self.1 * b.1, self.0 * b.1 + self.1 * b.0)
    }
}

impl std::ops::Div for C {
    type Output = C;
    fn div(self, b: C) -> C {
        if self.1 == 0.0 && b.1 == 0.0 {
            return C(self.0 / b.0, 0.0);
        }
        let Some((re, im)) = crate::complex::binary(
            crate::scalar::ScalarOp::Div,
            (self.0, self.1),
            (b.0, b.1),
            crate::ir::ElementType::C128,
        ) else {
            return C(f64::NAN, f64::NAN);
        };
        C(re, im)
    }
}

/// A matrix in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    values: Vec<C>,
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = C;
    fn index(&self, (i, j): (usize, usize)) -> &C {
        &self.values[i * self.columns + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut C {
        &mut self.values[i * self.columns + j]
    }
}

impl Matrix {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![ZERO; rows * columns] }
    }

    pub(super) fn unit(rows: usize, columns: usize) -> Self {
        let mut matrix = Self::new(rows, columns);
        (0..rows.min(columns)).for_each(|i| matrix[(i, i)] = ONE);
        matrix
    }

    /// Reads matrix number `batch` of a tensor.
    pub(super) fn read(tensor: &Literal, batch: usize) -> Self {
        let size = |back: usize| tensor.shape[tensor.shape.len() - back].max(0) as usize;
        Self::at(tensor, batch, size(2), size(1))
    }

    /// Reads row number `batch` of a tensor.
    pub(super) fn read_row(tensor: &Literal, batch: usize) -> Self {
        Self::at(tensor, batch, 1, tensor.shape.last().map_or(1, |&d| d.max(0) as usize))
    }

    fn at(tensor: &Literal, batch: usize, rows: usize, columns: usize) -> Self {
        let value = |i: usize| match tensor.get(batch * rows * columns + i) {
            Scalar::Complex(re, im) => C(re, im),
            other => C(other.as_f64(), 0.0),
        };
        Self { rows, columns, values: (0..rows * columns).map(value).collect() }
    }

    /// Returns its elements for a tensor of this type.
    pub(super) fn scalars(&self, ty: &TensorType) -> Vec<Scalar> {
        let complex = ty.element.is_complex();
        self.values.iter().map(|v| if complex { Scalar::Complex(v.0, v.1) } else { Scalar::Float(v.0) }).collect()
    }

    /// Returns its elements, row by row.
    pub(super) fn into_values(self) -> Vec<C> {
        self.values
    }

    /// Returns a row of these elements.
    pub(super) fn row(values: Vec<C>) -> Self {
        Self { rows: 1, columns: values.len(), values }
    }

    /// Makes all elements 0.
    pub(super) fn clear(&mut self) {
        self.values.fill(ZERO);
    }

    pub(super) fn adjoint(&self) -> Self {
        let mut turned = Self::new(self.columns, self.rows);
        for i in 0..self.rows {
            for j in 0..self.columns {
                turned[(j, i)] = self[(i, j)].conj();
            }
        }
        turned
    }

    fn swap_rows(&mut self, i: usize, j: usize) {
        (0..self.columns).for_each(|c| self.values.swap(i * self.columns + c, j * self.columns + c));
    }

    /// Applies reflector `I - tau v v^H` of the rows from `k` on to the columns from `from` on; `v` starts with 1 and
    /// continues with `tail`.
    pub(super) fn reflect(&mut self, k: usize, from: usize, tail: &[C], tau: C) {
        for j in from..self.columns {
            let below = tail.iter().enumerate();
            let sum = below.fold(self[(k, j)], |s, (i, v)| s + v.conj() * self[(k + 1 + i, j)]);
            let by = tau * sum;
            self[(k, j)] = self[(k, j)] - by;
            for (i, &v) in tail.iter().enumerate() {
                self[(k + 1 + i, j)] = self[(k + 1 + i, j)] - v * by;
            }
        }
    }

    fn tail(&self, k: usize) -> Vec<C> {
        self.tail_from(k + 1, k)
    }

    /// Returns the elements of a column from row `from` on.
    pub(super) fn tail_from(&self, from: usize, column: usize) -> Vec<C> {
        (from..self.rows).map(|i| self[(i, column)]).collect()
    }

    /// Computes the reflector that makes the elements of a column from row `k` until `end` a multiple of the first unit
    /// vector. The multiple replaces the first element, the rest of `v` the others. Returns the reflector's factor.
    pub(super) fn reflector(&mut self, k: usize, column: usize, end: usize) -> C {
        let head = self[(k, column)];
        let rest = (k + 1..end).fold(0.0f64, |s, i| s.hypot(self[(i, column)].size()));
        if rest == 0.0 && head.1 == 0.0 {
            return ZERO;
        }
        // The new element is real and has the opposite sign, to avoid cancellation.
        let beta = -head.size().hypot(rest).copysign(head.0);
        for i in k + 1..end {
            self[(i, column)] = self[(i, column)] / (head - C(beta, 0.0));
        }
        self[(k, column)] = C(beta, 0.0);
        C((beta - head.0) / beta, -head.1 / beta)
    }

    /// Multiplies some rows by the reflector of the columns from `k` on.
    pub(super) fn reflect_right(&mut self, k: usize, rows: std::ops::Range<usize>, tail: &[C], tau: C) {
        for i in rows {
            let after = tail.iter().enumerate();
            let sum = after.fold(self[(i, k)], |s, (j, &v)| s + self[(i, k + 1 + j)] * v);
            let by = sum * tau;
            self[(i, k)] = self[(i, k)] - by;
            for (j, v) in tail.iter().enumerate() {
                self[(i, k + 1 + j)] = self[(i, k + 1 + j)] - by * v.conj();
            }
        }
    }

    /// Makes the largest element of a column positive; returns the factor.
    pub(super) fn turn_phase(&mut self, j: usize) -> C {
        turn_phase(self, j)
    }
}

/// Returns both factors in one matrix, the row with which each row was swapped, and the number, from 1, of the first
/// pivot that is 0, or 0.
pub(super) fn lu(mut a: Matrix) -> (Matrix, Vec<usize>, usize) {
    let (mut swaps, mut singular) = (Vec::new(), 0);
    for k in 0..a.rows.min(a.columns) {
        // LAPACK compares the sums of the parts' magnitudes.
        let size = |i: usize| a[(i, k)].0.abs() + a[(i, k)].1.abs();
        let pivot = (k..a.rows).fold(k, |best, i| if size(i) > size(best) { i } else { best });
        swaps.push(pivot);
        if a[(pivot, k)] == ZERO {
            singular = if singular == 0 { k + 1 } else { singular };
            continue;
        }
        a.swap_rows(k, pivot);
        for i in k + 1..a.rows {
            let factor = a[(i, k)] / a[(k, k)];
            a[(i, k)] = factor;
            for j in k + 1..a.columns {
                a[(i, j)] = a[(i, j)] - factor * a[(k, j)];
            }
        }
    }
    (a, swaps, singular)
}

/// Returns R above the Householder vectors, and the vectors' factors as a row.
pub(super) fn qr(mut a: Matrix) -> (Matrix, Matrix) {
    let count = a.rows.min(a.columns);
    let mut taus = Matrix::new(1, count);
    for k in 0..count {
        let tau = a.reflector(k, k, a.rows);
        let tail = a.tail(k);
        a.reflect(k, k + 1, &tail, tau.conj());
        taus[(0, k)] = tau;
    }
    (a, taus)
}

/// Returns the first columns of the product of reflectors, as many as `a` has.
pub(super) fn qr_product(a: &Matrix, taus: &Matrix) -> Matrix {
    let mut q = Matrix::unit(a.rows, a.columns);
    for k in (0..taus.columns).rev() {
        q.reflect(k, k, &a.tail(k), taus[(0, k)]);
    }
    q
}

/// Returns the factor in its triangle, with the other triangle unchanged, and the size of the first leading minor that
/// isn't positive, or 0.
pub(super) fn lower_factor(a: Matrix, lower: bool) -> (Matrix, usize) {
    let mut l = if lower { a } else { a.adjoint() };
    let mut failed = 0;
    for j in 0..l.rows {
        let square = (0..j).fold(l[(j, j)].0, |s, k| s - l[(j, k)].0.powi(2) - l[(j, k)].1.powi(2));
        if square <= 0.0 || square.is_nan() {
            failed = j + 1;
            break;
        }
        let pivot = square.sqrt();
        l[(j, j)] = C(pivot, 0.0);
        for i in j + 1..l.rows {
            let sum = (0..j).fold(l[(i, j)], |s, k| s - l[(i, k)] * l[(j, k)].conj());
            l[(i, j)] = sum / C(pivot, 0.0);
        }
    }
    (if lower { l } else { l.adjoint() }, failed)
}

/// Returns the solution of a triangular system.
pub(super) fn triangular(a: &Matrix, mut b: Matrix, form: TriangularForm) -> Matrix {
    let entry = |i: usize, j: usize| {
        let value = if form.transposed { a[(j, i)] } else { a[(i, j)] };
        if form.conjugated { value.conj() } else { value }
    };
    let forward = (form.lower != form.transposed) == form.left;
    let (n, free) = if form.left { (b.rows, b.columns) } else { (b.columns, b.rows) };
    for line in 0..free {
        let at = |i: usize| if form.left { (i, line) } else { (line, i) };
        for step in 0..n {
            let i = if forward { step } else { n - 1 - step };
            let known = if forward { 0..i } else { i + 1..n };
            let part = |j: usize| if form.left { entry(i, j) } else { entry(j, i) };
            let sum = known.fold(b[at(i)], |s, j| s - part(j) * b[at(j)]);
            b[at(i)] = if form.unit { sum } else { sum / entry(i, i) };
        }
    }
    b
}

/// The limit of sweeps, after which Jacobi's methods have long converged.
const SWEEPS: usize = 60;

/// Returns eigenvectors as columns and eigenvalues in ascending order, by Jacobi's method; one triangle is read.
pub(super) fn eigen(a: &Matrix, lower: bool) -> (Matrix, Vec<f64>) {
    let n = a.rows;
    let mut m = Matrix::new(n, n);
    for i in 0..n {
        for j in 0..=i {
            let value = if lower { a[(i, j)] } else { a[(j, i)].conj() };
            (m[(i, j)], m[(j, i)]) = (value, value.conj());
        }
        m[(i, i)].1 = 0.0;
    }
    if m.values.iter().any(|v| !v.size().is_finite()) {
        m.values.fill(C(f64::NAN, 0.0));
        return (m, vec![f64::NAN; n]);
    }
    let mut vectors = Matrix::unit(n, n);
    let total = m.values.iter().fold(0.0f64, |s, v| s.hypot(v.size()));
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let off = m[(p, q)];
                if off.size() <= 1e-18 * total {
                    continue;
                }
                turned = true;
                let phase = off.scale(1.0 / off.size());
                let (c, s) = rotation(m[(p, p)].0, m[(q, q)].0, off.size());
                // Columns, then rows: m = j^H m j.
                turn(&mut m, p, q, c, s, phase);
                turn(&mut vectors, p, q, c, s, phase);
                for j in 0..n {
                    let (x, y) = (m[(p, j)], m[(q, j)] * phase);
                    m[(p, j)] = x.scale(c) - y.scale(s);
                    m[(q, j)] = x.scale(s) + y.scale(c);
                }
            }
        }
        if !turned {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| m[(i, i)].0.total_cmp(&m[(j, j)].0));
    let values = order.iter().map(|&i| m[(i, i)].0).collect();
    let mut sorted = columns(&vectors, &order);
    for j in 0..n {
        turn_phase(&mut sorted, j);
    }
    (sorted, values)
}

/// Returns the cosine and sine that make `[[a, off], [off, b]]` diagonal.
fn rotation(a: f64, b: f64, off: f64) -> (f64, f64) {
    let ratio = (b - a) / (2.0 * off);
    let t = 1f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    (c, c * t)
}

/// Multiplies columns p and q by the rotation for an off-diagonal element with this phase.
fn turn(m: &mut Matrix, p: usize, q: usize, c: f64, s: f64, phase: C) {
    for i in 0..m.rows {
        let (x, y) = (m[(i, p)], m[(i, q)] * phase.conj());
        m[(i, p)] = x.scale(c) - y.scale(s);
        m[(i, q)] = x.scale(s) + y.scale(c);
    }
}

fn columns(m: &Matrix, order: &[usize]) -> Matrix {
    let mut picked = Matrix::new(m.rows, order.len());
    for (j, &from) in order.iter().enumerate() {
        (0..m.rows).for_each(|i| picked[(i, j)] = m[(i, from)]);
    }
    picked
}

/// Makes the largest element of a column positive; returns the factor.
fn turn_phase(m: &mut Matrix, j: usize) -> C {
    let largest = (0..m.rows).fold(ZERO, |best, i| {
        // Of elements of about the same size the first counts, regardless of rounding.
        if m[(i, j)].size() > best.size() * (1.0 + 1e-3) { m[(i, j)] } else { best }
    });
    if largest == ZERO {
        return ONE;
    }
    let by = largest.conj().scale(1.0 / largest.size());
    (0..m.rows).for_each(|i| m[(i, j)] = m[(i, j)] * by);
    by
}

/// Returns left singular vectors as `left` columns, singular values in descending order, and right ones as `right`
/// rows; by Jacobi's one-sided method.
pub(super) fn singular(a: &Matrix, left: usize, right: usize) -> (Matrix, Vec<f64>, Matrix) {
    if a.rows < a.columns {
        let (u, s, vt) = singular(&a.adjoint(), right, left);
        return (vt.adjoint(), s, u.adjoint());
    }
    let n = a.columns;
    if a.values.iter().any(|v| !v.size().is_finite()) {
        let nothing = |rows, columns| Matrix { rows, columns, values: vec![C(f64::NAN, 0.0); rows * columns] };
        return (nothing(a.rows, left), vec![f64::NAN; n], nothing(right, n));
    }
    let (mut m, mut v) = (a.clone(), Matrix::unit(n, n));
    for _ in 0..SWEEPS {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let sum = |f: &dyn Fn(usize) -> C| (0..m.rows).fold(ZERO, |s, i| s + f(i));
                let norm = |j: usize| sum(&|i| m[(i, j)].conj() * m[(i, j)]).0;
                let (x, y, off) = (norm(p), norm(q), sum(&|i| m[(i, p)].conj() * m[(i, q)]));
                if off.size() <= 1e-16 * (x * y).sqrt() || off == ZERO {
                    continue;
                }
                turned = true;
                let (c, s) = rotation(x, y, off.size());
                let phase = off.scale(1.0 / off.size());
                turn(&mut m, p, q, c, s, phase);
                turn(&mut v, p, q, c, s, phase);
            }
        }
        if !turned {
            break;
        }
    }
    let norm = |j: usize| (0..m.rows).fold(0.0f64, |s, i| s.hypot(m[(i, j)].size()));
    let sizes: Vec<f64> = (0..n).map(norm).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| sizes[j].total_cmp(&sizes[i]));
    let values: Vec<f64> = order.iter().map(|&i| sizes[i]).collect();
    let (mut u, mut v) = (columns(&m, &order), columns(&v, &order));
    // Columns for singular values of zero, and additional columns, are chosen orthogonal to the others.
    let enough = values.first().map_or(0.0, |largest| largest * 1e-15);
    let kept = values.iter().filter(|&&s| s > enough).count();
    for j in 0..kept {
        (0..u.rows).for_each(|i| u[(i, j)] = u[(i, j)].scale(1.0 / values[j]));
        let by = turn_phase(&mut u, j);
        (0..v.rows).for_each(|i| v[(i, j)] = v[(i, j)] * by);
    }
    (complete(&u, kept, left), values, v.adjoint())
}

/// Returns the first `kept` columns, and more that are orthogonal to them and to each other, `count` in total.
fn complete(m: &Matrix, kept: usize, count: usize) -> Matrix {
    let mut all = Matrix::new(m.rows, count);
    let mut filled = 0;
    let mut candidate = 0;
    while filled < count {
        let mut next: Vec<C> = if filled < kept {
            (0..m.rows).map(|i| m[(i, filled)]).collect()
        } else {
            (0..m.rows).map(|i| if i == candidate { ONE } else { ZERO }).collect()
        };
        if filled >= kept {
            candidate += 1;
            // Two passes of orthogonalization are enough.
            for _ in 0..2 {
                for j in 0..filled {
                    let sum = (0..m.rows).fold(ZERO, |s, i| s + all[(i, j)].conj() * next[i]);
                    (0..m.rows).for_each(|i| next[i] = next[i] - all[(i, j)] * sum);
                }
            }
            let size = next.iter().fold(0.0f64, |s, v| s.hypot(v.size()));
            if size < 0.5 / (m.rows as f64).sqrt() && candidate < m.rows {
                continue;
            }
            next.iter_mut().for_each(|v| *v = v.scale(1.0 / size));
        }
        (0..m.rows).for_each(|i| all[(i, filled)] = next[i]);
        filled += 1;
    }
    all
}

#[cfg(test)]
#[path = "dense_tests.rs"]
mod tests;
