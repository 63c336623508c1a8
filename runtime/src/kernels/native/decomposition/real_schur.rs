//! Schur form of a real matrix in real numbers, by double shifts: conjugate eigenvalues become blocks of size 2 on the
//! diagonal. Works column by column, in the order of [`schur`](super::schur).

use faer::Mat;

use super::schur::{Columns, MOST_STEPS, prepare, square};

/// Returns the triangle with blocks on its diagonal, and the orthogonal matrix if `vectors` is set. Returns `None` if
/// elements aren't finite, or if the algorithm doesn't converge.
pub(super) fn schur(threads: usize, a: Mat<f64>, vectors: bool) -> Option<(Columns<f64>, Option<Columns<f64>>)> {
    let (mut t, mut q) = prepare(threads, a, vectors)?;
    let arch = pulp::Arch::new();
    let (mut end, mut steps) = (t.n, 0);
    while end > 1 {
        let last = end - 1;
        let first = square(&mut t, last);
        if last - first < 2 {
            if first < last {
                standardize(&mut t, q.as_mut(), first);
            }
            (end, steps) = (first, 0);
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        let h = |i: usize, j: usize| t.at(i, j);
        let mut sum = h(last - 1, last - 1) + h(last, last);
        let mut product = h(last - 1, last - 1) * h(last, last) - h(last - 1, last) * h(last, last - 1);
        if steps % 10 == 0 {
            let size = h(last, last - 1).abs() + h(last - 1, last - 2).abs();
            (sum, product) = (1.5 * size, size * size);
        }
        let next = first + 1;
        let begin = [
            h(first, first) * (h(first, first) - sum) + h(first, next) * h(next, first) + product,
            h(next, first) * (h(first, first) + h(next, next) - sum),
            h(next, first) * h(next + 1, next),
        ];
        arch.dispatch(Step { t: &mut t, q: q.as_mut(), first, last, begin });
    }
    Some((t, q))
}

/// A reflector of three neighboring rows or columns: the elements of its vector after the leading 1, and its factor.
/// For two rows or columns, the last element is 0.
#[derive(Clone, Copy)]
struct Reflector {
    tail: [f64; 2],
    tau: f64,
}

impl Reflector {
    /// Returns the reflector that makes `x` a multiple of the first unit vector.
    #[inline(always)]
    fn of(x: [f64; 3]) -> Self {
        let rest = x[1].hypot(x[2]);
        if rest == 0.0 {
            return Self { tail: [0.0; 2], tau: 0.0 };
        }
        let beta = -x[0].hypot(rest).copysign(x[0]);
        Self { tail: [x[1] / (x[0] - beta), x[2] / (x[0] - beta)], tau: (beta - x[0]) / beta }
    }

    /// Applies the reflector to rows `i`, `i + 1` and, if `three`, `i + 2` of a column.
    #[inline(always)]
    fn rows(self, column: &mut [f64], i: usize, three: bool) {
        let [v, w] = self.tail;
        let by = self.tau * (column[i] + v * column[i + 1] + if three { w * column[i + 2] } else { 0.0 });
        column[i] -= by;
        column[i + 1] -= v * by;
        if three {
            column[i + 2] -= w * by;
        }
    }

    #[inline(always)]
    fn columns(self, m: &mut Columns<f64>, k: usize, rows: usize, three: bool) {
        let Self { tail: [v, w], tau } = self;
        if three {
            let [a, b, c]: [&mut [f64]; 3] = m.neighbors(k, rows);
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                let by = tau * (*a + *b * v + *c * w);
                *a -= by;
                *b -= by * v;
                *c -= by * w;
            }
        } else {
            let [a, b]: [&mut [f64]; 2] = m.neighbors(k, rows);
            for (a, b) in a.iter_mut().zip(b) {
                let by = tau * (*a + *b * v);
                *a -= by;
                *b -= by * v;
            }
        }
    }
}

/// One step of the algorithm on rows and columns `first` to `last`. `begin` has the first elements of the shifted first
/// column.
struct Step<'a> {
    t: &'a mut Columns<f64>,
    q: Option<&'a mut Columns<f64>>,
    first: usize,
    last: usize,
    begin: [f64; 3],
}

impl pulp::WithSimd for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { t, mut q, first, last, begin } = self;
        let n = t.n;
        let mut done: Vec<Reflector> = Vec::with_capacity(last - first);
        for k in first..last {
            let three = k + 2 <= last;
            let at = |i: usize| if k + i <= last { t.at(k + i, k - 1) } else { 0.0 };
            let reflector = Reflector::of(if k == first { begin } else { [at(0), at(1), at(2)] });
            if three {
                let new = t.column(k + 2);
                done.iter().enumerate().for_each(|(i, r)| r.rows(new, first + i, true));
            }
            done.push(reflector);
            for j in k.max(first + 1) - 1..=(k + 2).min(last) {
                reflector.rows(t.column(j), k, three);
            }
            if k > first {
                (k + 1..=(k + 2).min(last)).for_each(|i| t.set(i, k - 1, 0.0));
            }
            reflector.columns(t, k, (k + 4).min(last + 1), three);
            if let Some(q) = &mut q {
                reflector.columns(q, k, n, three);
            }
        }
        for j in last + 1..n {
            let column = t.column(j);
            done.iter().enumerate().for_each(|(i, r)| r.rows(column, first + i, first + i + 2 <= last));
        }
    }
}

/// Rotates the block of two rows from `k` on, so that it becomes a triangle, or a block with equal diagonal elements
/// and off-diagonal elements of opposite signs.
fn standardize(t: &mut Columns<f64>, q: Option<&mut Columns<f64>>, k: usize) {
    let [a, b, c, d] = [(k, k), (k, k + 1), (k + 1, k), (k + 1, k + 1)].map(|(i, j)| t.at(i, j));
    // The block is `mean + [p, q + r; q - r, -p]`. A rotation changes only p and q, and keeps `p^2 + q^2`.
    let (p, mean, sum, r) = ((a - d) / 2.0, (a + d) / 2.0, (b + c) / 2.0, (b - c) / 2.0);
    let scale = p.abs().max(b.abs()).max(c.abs());
    let root = p / scale * p + b / scale * c;
    let h = p.hypot(sum);
    let conjugate = root < 0.0 && h < r.abs();
    let (cos, sin) = if !conjugate {
        // The first column becomes the eigenvector of the eigenvalue that is farther from the last element.
        let along = p + (scale.sqrt() * root.max(0.0).sqrt()).copysign(p);
        let length = along.hypot(c);
        (along / length, c / length)
    } else if p == 0.0 {
        (1.0, 0.0)
    } else {
        let cos = ((1.0 + sum.abs() / h) / 2.0).sqrt();
        (cos, -p * sum.signum() / (2.0 * h * cos))
    };
    let turn = |x: f64, y: f64| (cos * x + sin * y, cos * y - sin * x);
    for j in k..t.n {
        let column = t.column(j);
        (column[k], column[k + 1]) = turn(column[k], column[k + 1]);
    }
    let columns = |m: &mut Columns<f64>, rows: usize| {
        let [left, right]: [&mut [f64]; 2] = m.neighbors(k, rows);
        left.iter_mut().zip(right).for_each(|(x, y)| (*x, *y) = turn(*x, *y));
    };
    columns(t, k + 2);
    if let Some(q) = q {
        let rows = q.n;
        columns(q, rows);
    }
    if conjugate {
        let across = h.copysign(sum);
        t.set(k, k, mean);
        t.set(k + 1, k + 1, mean);
        t.set(k, k + 1, across + r);
        t.set(k + 1, k, across - r);
    } else {
        t.set(k + 1, k, 0.0);
    }
}

/// Returns the real and the imaginary parts of the eigenvalues on the diagonal of [`schur`]'s triangle.
pub(super) fn values(t: &Columns<f64>) -> (Vec<f64>, Vec<f64>) {
    let re = (0..t.n).map(|i| t.at(i, i)).collect();
    let mut im = vec![0.0; t.n];
    for i in 1..t.n {
        if t.at(i, i - 1) != 0.0 {
            let size = t.at(i, i - 1).abs().sqrt() * t.at(i - 1, i).abs().sqrt();
            (im[i - 1], im[i]) = (size, -size);
        }
    }
    (re, im)
}
