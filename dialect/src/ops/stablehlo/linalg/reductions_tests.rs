//! Tests of reduced matrices by their defining properties, and by LAPACK's results where these are unique.

use super::*;
use crate::ops::stablehlo::linalg::dense::ONE;

pub(in super::super) fn random(seed: u64, rows: usize, columns: usize, complex: bool) -> Matrix {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut one = || random.f64() * 2.0 - 1.0;
    let mut m = Matrix::new(rows, columns);
    for i in 0..rows {
        for j in 0..columns {
            m[(i, j)] = C(one(), if complex { one() } else { 0.0 });
        }
    }
    m
}

pub(in super::super) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = Matrix::new(a.rows, b.columns);
    for i in 0..a.rows {
        for j in 0..b.columns {
            c[(i, j)] = (0..a.columns).fold(ZERO, |s, k| s + a[(i, k)] * b[(k, j)]);
        }
    }
    c
}

pub(in super::super) fn far(a: &Matrix, b: &Matrix) -> f64 {
    assert_eq!((a.rows, a.columns), (b.rows, b.columns));
    let mut far = 0.0f64;
    for i in 0..a.rows {
        (0..a.columns).for_each(|j| far = far.max((a[(i, j)] - b[(i, j)]).size()));
    }
    far
}

/// Returns the product of reflectors whose vectors begin below the diagonal.
fn unitary(a: &Matrix, taus: &Matrix) -> Matrix {
    let mut q = Matrix::unit(a.rows, a.rows);
    for k in (0..taus.columns).rev() {
        q.reflect(k + 1, 0, &a.tail_from(k + 2, k), taus[(0, k)]);
    }
    q
}

pub(in super::super) fn cases() -> impl Iterator<Item = (Matrix, bool)> {
    (0..24u64).map(|i| (random(i, (i as usize / 2) % 9, (i as usize / 2) % 9, i % 2 == 1), i % 2 == 1))
}

#[test]
fn a_hessenberg_matrix_between_unitary_ones() {
    for (a, _) in cases() {
        let n = a.rows;
        let (h, taus) = hessenberg(a.clone(), 0..n);
        let q = unitary(&h, &taus);
        let mut flat = h.clone();
        for j in 0..n {
            (j + 2..n).for_each(|i| flat[(i, j)] = ZERO);
        }
        assert!(far(&product(&product(&q, &flat), &q.adjoint()), &a) < 1e-13);
        assert!(far(&product(&q.adjoint(), &q), &Matrix::unit(n, n)) < 1e-13);
    }
}

#[test]
fn a_tridiagonal_matrix_between_unitary_ones() {
    for (noise, _) in cases() {
        let n = noise.rows;
        for lower in [true, false] {
            let mut a = noise.clone();
            for i in 0..n {
                a[(i, i)].1 = 0.0;
                for j in 0..i {
                    a[(j, i)] = a[(i, j)].conj();
                }
            }
            // The other triangle isn't read.
            let mut given = a.clone();
            for i in 0..n {
                (0..i).for_each(|j| given[if lower { (j, i) } else { (i, j) }] = C(7.0, 7.0));
            }
            let (t, d, e, taus) = tridiagonal(given, lower);
            let mut flat = Matrix::new(n, n);
            (0..n).for_each(|i| flat[(i, i)] = C(d[i], 0.0));
            for (i, &e) in e.iter().enumerate() {
                (flat[(i, i + 1)], flat[(i + 1, i)]) = (C(e, 0.0), C(e, 0.0));
            }
            let mut q = Matrix::unit(n, n);
            if lower {
                q = unitary(&t, &taus);
            } else {
                // H(n-2) ... H(0), whose vectors end with 1 at row i and have zeros below.
                for i in (0..n.saturating_sub(1)).rev() {
                    let mut v: Vec<C> = (0..i).map(|row| t[(row, i + 1)]).collect();
                    v.push(ONE);
                    let mut h = Matrix::unit(n, n);
                    for r in 0..=i {
                        (0..=i).for_each(|c| h[(r, c)] = h[(r, c)] - taus[(0, i)] * v[r] * v[c].conj());
                    }
                    q = product(&q, &h);
                }
            }
            assert!(far(&product(&product(&q, &flat), &q.adjoint()), &a) < 1e-13, "lower: {lower}, n: {n}");
        }
    }
}

#[test]
fn the_longest_columns_come_first() {
    for (seed, m, n) in [(1, 5, 4), (2, 4, 6), (3, 7, 7), (4, 0, 3)] {
        let a = random(seed, m, n, seed % 2 == 0);
        for fixed in [vec![0; n], (0..n).map(|j| i64::from(j == n - 1)).collect()] {
            let (f, order, taus) = pivoted_qr(a.clone(), &fixed);
            let mut moved = Matrix::new(m, n);
            for (j, &from) in order.iter().enumerate() {
                (0..m).for_each(|i| moved[(i, j)] = a[(i, from - 1)]);
            }
            if fixed.iter().any(|&f| f != 0) && m > 0 {
                assert_eq!(order[0], n);
            }
            let mut r = f.clone();
            for j in 0..n {
                (j + 1..m).for_each(|i| r[(i, j)] = ZERO);
            }
            assert!(far(&multiply(&f, &taus, r.clone(), true, false), &moved) < 1e-13);
            assert!(far(&multiply(&f, &taus, moved, true, true), &r) < 1e-13);
            let wide = random(9, 3, m, true);
            let unit = multiply(&f, &taus, Matrix::unit(m, m), true, false);
            assert!(far(&multiply(&f, &taus, wide.clone(), false, false), &product(&wide, &unit)) < 1e-13);
            let start = usize::from(fixed.iter().any(|&f| f != 0));
            assert!((start + 1..m.min(n)).all(|k| f[(k, k)].size() <= f[(k - 1, k - 1)].size() * (1.0 + 1e-12)));
        }
    }
}

#[test]
fn systems_with_three_diagonals() {
    for seed in 0..20 {
        let (n, complex) = (seed as usize % 7, seed % 2 == 1);
        let lines = random(seed, 3, n, complex);
        let mut dense = Matrix::new(n, n);
        for i in 0..n {
            dense[(i, i)] = lines[(1, i)];
            if i > 0 {
                (dense[(i, i - 1)], dense[(i - 1, i)]) = (lines[(0, i)], lines[(2, i - 1)]);
            }
        }
        let b = random(seed + 100, n, 3, complex);
        let mut x = b.clone();
        let [mut below, mut middle, mut above] = [0, 1, 2].map(|i| (0..n).map(|j| lines[(i, j)]).collect::<Vec<C>>());
        assert_eq!(three_diagonals([&mut below, &mut middle, &mut above], &mut x), 0);
        assert!(far(&product(&dense, &x), &b) < 1e-10);
    }
    let mut b = Matrix::unit(2, 2);
    let zeros = || vec![ZERO; 2];
    assert_eq!(three_diagonals([&mut zeros(), &mut zeros(), &mut zeros()], &mut b), 1);
}
