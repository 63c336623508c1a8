//! Tests of the Schur form by its defining properties.

use super::super::reductions::tests::{cases, far, product};
use super::*;

/// Returns matrices whose eigenvalues repeat, are on a circle, or have too few eigenvectors.
fn special() -> Vec<Matrix> {
    let of = |n: usize, value: &dyn Fn(usize, usize) -> f64| {
        let mut m = Matrix::new(n, n);
        (0..n * n).for_each(|at| m[(at / n, at % n)] = C(value(at / n, at % n), 0.0));
        m
    };
    let is = |yes: bool| f64::from(u8::from(yes));
    vec![
        of(4, &|_, _| 0.0),
        of(5, &|i, j| is(i == j)),
        of(6, &|i, j| is(i == (j + 1) % 6)),
        of(5, &|i, j| is(i == j) * 2.0 + is(i + 1 == j)),
        of(5, &|i, j| is(i == j) * 2.0 + is(j + 1 == i)),
        of(4, &|i, j| is(i + 1 == j) - is(j + 1 == i)),
        of(2, &|i, j| [[1.0, 1e-9], [-1e-9, 1.0]][i][j]),
        of(2, &|i, j| [[3.0, -1.0], [4.0, -1.0]][i][j]),
        of(2, &|i, j| [[1.0, 0.0], [5.0, 2.0]][i][j]),
        of(6, &|i, j| 1e150 * ((i * 7 + j * 3) % 5) as f64),
        of(6, &|i, j| 1e-150 * ((i * 7 + j * 3) % 5) as f64),
    ]
}

#[test]
fn real_triangles() {
    for a in cases().filter(|c| !c.1).map(|c| c.0).chain(special()) {
        let n = a.rows;
        let (t, q) = real_schur(&a).expect("converges");
        let largest = (0..n * n).fold(0.0f64, |m, at| m.max(a[(at / n, at % n)].size()));
        assert!(far(&product(&product(&q, &t), &q.adjoint()), &a) <= 1e-13 * largest);
        assert!(far(&product(&q.adjoint(), &q), &Matrix::unit(n, n)) < 1e-13);
        for i in 1..n {
            assert!((0..i - 1).all(|j| t[(i, j)] == ZERO));
            let [b, c] = [t[(i - 1, i)].0, t[(i, i - 1)].0];
            if c != 0.0 {
                assert!(t[(i - 1, i - 1)] == t[(i, i)] && b * c.signum() < 0.0, "standardized");
                assert!(i + 1 == n || t[(i + 1, i)] == ZERO, "squares are apart");
            }
        }
        let (re, im) = real_schur_values(&t);
        let trace = (0..n).fold(0.0, |s, i| s + a[(i, i)].0);
        assert!((re.iter().sum::<f64>() - trace).abs() <= 1e-13 * largest);
        assert_eq!(im.iter().sum::<f64>(), 0.0, "conjugate values");
    }
    let mut lost = Matrix::unit(3, 3);
    lost[(0, 2)] = C(f64::NAN, 0.0);
    assert!(real_schur(&lost).is_none() && schur(&lost).is_none());
}

#[test]
fn triangles_and_eigenvectors_of_any_matrix() {
    for (a, complex) in cases() {
        let n = a.rows;
        let (t, q) = schur(&a).expect("converges");
        assert!(far(&product(&product(&q, &t), &q.adjoint()), &a) < 1e-12);
        assert!(far(&product(&q.adjoint(), &q), &Matrix::unit(n, n)) < 1e-12);
        assert!((0..n).all(|j| (j + 1..n).all(|i| t[(i, j)] == ZERO)));
        let (values, left, right) = general_eigen(&a).expect("converges");
        let mut scaled = right.clone();
        for j in 0..n {
            (0..n).for_each(|i| scaled[(i, j)] = scaled[(i, j)] * values[j]);
        }
        assert!(far(&product(&a, &right), &scaled) < 1e-10);
        let mut scaled = left.clone();
        for j in 0..n {
            (0..n).for_each(|i| scaled[(i, j)] = scaled[(i, j)] * values[j].conj());
        }
        assert!(far(&product(&a.adjoint(), &left), &scaled) < 1e-10);
        if !complex {
            assert!(values.windows(2).all(|v| v[0].0 <= v[1].0));
            let sum = values.iter().fold(0.0, |s, v| s + v.1);
            assert_eq!(sum, 0.0, "conjugate values");
        }
    }
    // A rotation, and a matrix with one eigenvector.
    let mut turn = Matrix::new(2, 2);
    (turn[(0, 1)], turn[(1, 0)]) = (C(-1.0, 0.0), ONE);
    let (values, ..) = general_eigen(&turn).expect("converges");
    assert!((values[0] - C(0.0, 1.0)).size() < 1e-15 && (values[1] - C(0.0, -1.0)).size() < 1e-15, "{values:?}");
    let mut lonely = Matrix::unit(3, 3);
    (lonely[(0, 1)], lonely[(1, 2)]) = (ONE, ONE);
    let (values, _, right) = general_eigen(&lonely).expect("converges");
    assert!(values.iter().all(|v| *v == ONE) && right[(0, 0)] == ONE);
}
