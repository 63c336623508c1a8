//! Tests of decompositions by their defining properties, and by LAPACK's results where these are unique.

use super::*;

fn random(seed: u64, rows: usize, columns: usize, complex: bool) -> Matrix {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut one = || random.f64() * 2.0 - 1.0;
    let values = (0..rows * columns).map(|_| C(one(), if complex { one() } else { 0.0 })).collect();
    Matrix { rows, columns, values }
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = Matrix::new(a.rows, b.columns);
    for i in 0..a.rows {
        for j in 0..b.columns {
            c[(i, j)] = (0..a.columns).fold(ZERO, |s, k| s + a[(i, k)] * b[(k, j)]);
        }
    }
    c
}

fn assert_near(a: &Matrix, b: &Matrix, what: &str) {
    assert_eq!((a.rows, a.columns), (b.rows, b.columns), "{what}");
    let far = a.values.iter().zip(&b.values).map(|(&x, &y)| (x - y).size()).fold(0.0, f64::max);
    assert!(far <= 1e-12, "{what}: off by {far:e}");
}

fn assert_orthogonal(q: &Matrix, what: &str) {
    assert_near(&product(&q.adjoint(), q), &Matrix::unit(q.columns, q.columns), what);
}

/// Returns the elements for which `keep` of row and column holds; others are 0.
fn part(a: &Matrix, rows: usize, columns: usize, keep: impl Fn(usize, usize) -> bool) -> Matrix {
    let mut p = Matrix::new(rows, columns);
    for i in 0..rows {
        for j in 0..columns {
            p[(i, j)] = if keep(i, j) { a[(i, j)] } else { ZERO };
        }
    }
    p
}

fn cases() -> impl Iterator<Item = (Matrix, String)> {
    let sizes = [(1, 1), (4, 4), (6, 3), (3, 6), (7, 7), (5, 1), (1, 5), (0, 3), (3, 0), (12, 9)];
    let all = sizes.into_iter().flat_map(|(m, n)| [(m, n, false), (m, n, true)]);
    all.enumerate()
        .map(|(i, (m, n, complex))| (random(i as u64, m, n, complex), format!("{m}x{n}, complex: {complex}")))
}

#[test]
fn a_product_of_reflectors_and_a_triangle() {
    for (a, what) in cases().filter(|(a, _)| a.rows >= a.columns) {
        let (factors, taus) = qr(a.clone());
        let r = part(&factors, a.columns, a.columns, |i, j| i <= j);
        assert!((0..a.columns).all(|i| r[(i, i)].1 == 0.0), "{what}: LAPACK's diagonal is real");
        let q = qr_product(&factors, &taus);
        assert_orthogonal(&q, &what);
        assert_near(&product(&q, &r), &a, &what);
    }
}

#[test]
fn triangles_times_each_other_are_the_permuted_matrix() {
    for (a, what) in cases() {
        let (factors, swaps, singular) = lu(a.clone());
        let k = a.rows.min(a.columns);
        let mut l = part(&factors, a.rows, k, |i, j| i > j);
        (0..k).for_each(|i| l[(i, i)] = ONE);
        let u = part(&factors, k, a.columns, |i, j| i <= j);
        let mut permuted = a;
        swaps.iter().enumerate().for_each(|(i, &j)| permuted.swap_rows(i, j));
        assert_eq!(singular, 0, "{what}");
        assert_near(&product(&l, &u), &permuted, &what);
    }
    let (_, _, singular) = lu(Matrix { rows: 2, columns: 2, values: vec![ONE, ONE, ONE, ONE] });
    assert_eq!(singular, 2);
}

#[test]
fn eigenvectors_are_only_scaled() {
    for (a, what) in cases().filter(|(a, _)| a.rows == a.columns) {
        let lower = a.rows % 2 == 0;
        let mut hermitian = a.clone();
        for i in 0..a.rows {
            hermitian[(i, i)].1 = 0.0;
            for j in 0..i {
                let (to, from) = if lower { ((j, i), (i, j)) } else { ((i, j), (j, i)) };
                hermitian[to] = a[from].conj();
            }
        }
        let (vectors, values) = eigen(&a, lower);
        assert!(values.is_sorted(), "{what}: {values:?}");
        assert_orthogonal(&vectors, &what);
        let mut scaled = vectors.clone();
        for j in 0..a.rows {
            (0..a.rows).for_each(|i| scaled[(i, j)] = scaled[(i, j)].scale(values[j]));
        }
        assert_near(&product(&hermitian, &vectors), &scaled, &what);
    }
}

#[test]
fn singular_values_and_vectors_are_the_matrix_again() {
    let thin_of_rank_one =
        Matrix { rows: 3, columns: 2, values: [1.0, 2.0, 2.0, 4.0, -1.0, -2.0].map(|v| C(v, 0.0)).into() };
    for (a, what) in cases().chain([(thin_of_rank_one, "rank 1".to_owned())]) {
        let k = a.rows.min(a.columns);
        for (left, right) in [(k, k), (a.rows, a.columns)] {
            let (u, s, vt) = singular(&a, left, right);
            assert!(s.is_sorted_by(|a, b| a >= b) && s.iter().all(|&s| s >= 0.0), "{what}: {s:?}");
            assert_orthogonal(&u, &what);
            assert_orthogonal(&vt.adjoint(), &what);
            let mut scaled = part(&u, a.rows, k, |_, _| true);
            for j in 0..k {
                (0..a.rows).for_each(|i| scaled[(i, j)] = scaled[(i, j)].scale(s[j]));
            }
            assert_near(&product(&scaled, &part(&vt, k, a.columns, |_, _| true)), &a, &what);
        }
    }
}

/// The expected values are from LAPACK 3.12 through SciPy.
#[test]
fn signs_and_swaps_are_those_of_lapack() {
    let re = [1.0, 2.0, 3.0, 4.0, -5.0, 6.0, -7.0, 8.0, 2.0, 0.5, 1.0, -1.0];
    let im = [1.0, -1.0, 2.0, 0.0, 3.0, 1.0, 2.0, 2.0, -2.0, 1.0, 0.0, 1.0];
    let matrix = |rows: usize, complex: bool| {
        let value = |i: usize| C(re[i], if complex { im[i] } else { 0.0 });
        Matrix { rows, columns: 3, values: (0..rows * 3).map(value).collect() }
    };
    let near = |a: C, b: C| assert!((a - b).size() < 1e-9, "{a:?}, not {b:?}");
    let (factors, taus) = qr(matrix(4, false));
    near(factors[(0, 0)], C(-8.139410298, 0.0));
    near(factors[(1, 0)], C(0.4376649991, 0.0));
    near(factors[(2, 2)], C(-6.7630740014, 0.0));
    near(taus[(0, 1)], C(1.5448969344, 0.0));
    let (factors, taus) = qr(matrix(4, true));
    near(factors[(0, 1)], C(8.2941176471, 2.5882352941));
    near(factors[(3, 2)], C(-0.0983108398, 0.0954989118));
    near(taus[(0, 1)], C(1.3896417756, -0.7398529907));
    let (factors, swaps, _) = lu(matrix(3, false));
    assert_eq!(swaps, [2, 2, 2]);
    near(factors[(2, 2)], C(7.5909090909, 0.0));
    let (factors, swaps, _) = lu(matrix(3, true));
    assert_eq!(swaps, [2, 1, 2]);
    near(factors[(2, 2)], C(3.3431372549, 5.5392156863));
}

#[test]
fn a_minor_that_is_not_positive_is_named() {
    let a = Matrix { rows: 2, columns: 2, values: vec![C(4.0, 0.0), C(9.0, 0.0), C(2.0, 0.0), C(2.0, 0.0)] };
    let (factor, failed) = lower_factor(a.clone(), true);
    assert_eq!((failed, factor[(0, 0)], factor[(1, 0)]), (0, C(2.0, 0.0), C(1.0, 0.0)), "{factor:?}");
    let (_, failed) = lower_factor(a, false);
    assert_eq!(failed, 2);
}
