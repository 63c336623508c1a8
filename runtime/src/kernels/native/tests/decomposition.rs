//! Tests of decompositions: against the reference up to rounding. Where several results are possible, checks the
//! defining equations instead.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use rustfft::num_complex::Complex;

use super::linalg::{TYPES, check, parts, values};
use super::{Case, runtime_results, text};

/// Returns the text of a call of LAPACK or of a TPU's decomposition: `name` is that in `lapack_?name_ffi`.
pub(super) fn call(name: &str, config: &str, ty: &str, operands: &[&[i64]], results: &[(&[i64], &str)]) -> String {
    let letter = match ty {
        "f32" => "s",
        "f64" => "d",
        "complex<f32>" => "c",
        _ => "z",
    };
    let target =
        if name.starts_with(char::is_uppercase) { name.to_owned() } else { format!("lapack_{letter}{name}_ffi") };
    let types: Vec<String> = operands.iter().map(|shape| text(shape, ty)).collect();
    let names: Vec<String> = (0..operands.len()).map(|i| format!("%a{i}")).collect();
    let args: Vec<String> = names.iter().zip(&types).map(|(n, t)| format!("{n}: {t}")).collect();
    let outs: Vec<String> = (0..results.len()).map(|i| format!("%r{i}")).collect();
    let result_types: Vec<String> =
        results.iter().map(|(shape, of)| text(shape, if of.is_empty() { ty } else { of })).collect();
    format!(
        "({}) {} = stablehlo.custom_call @{target}({}) {{mhlo.backend_config = {{{config}}}}} : ({}) -> ({})",
        args.join(", "),
        outs.join(", "),
        names.join(", "),
        types.join(", "),
        result_types.join(", ")
    )
}

pub(super) fn with(batch: &[i64], last: &[i64]) -> Vec<i64> {
    batch.iter().chain(last).copied().collect()
}

fn real(ty: &str) -> &'static str {
    if ty.contains("64") && ty != "complex<f32>" { "f64" } else { "f32" }
}

/// Returns random sizes, among them 0, 1, and more than a block; and batches.
fn sizes(random: &mut fastrand::Rng, round: usize) -> (Vec<i64>, i64, i64) {
    let batch = (0..random.usize(..2)).map(|_| random.i64(0..4)).collect();
    match round {
        0..4 => (Vec::new(), 150, 150),
        4 | 5 => (Vec::new(), 130, 61),
        6 | 7 => (Vec::new(), 61, 300),
        _ => (batch, random.i64(0..12), random.i64(0..12)),
    }
}

#[test]
fn triangular_factors_with_swaps() {
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..80 {
        let (ty, element) = TYPES[round % 4];
        let (batch, m, n) = sizes(&mut random, round);
        let (a, k) = (with(&batch, &[m, n]), with(&batch, &[m.min(n)]));
        let tpu = round % 3 == 2;
        let last = with(&batch, &[m][..usize::from(tpu)]);
        let name = if tpu { "LuDecomposition" } else { "getrf" };
        let case = Case::of(&call(name, "", ty, &[&a], &[(&a, ""), (&k, "i32"), (&last, "i32")]));
        let noise = values(&mut random, element, &a);
        // Some matrices have a column of zeros, or small integers, whose pivots are equal.
        let value = |i: usize| {
            let column = i as i64 % n.max(1);
            let [re, im] = parts(noise.get(i)).map(|v| match round % 5 {
                3 if column == n / 2 => 0.0,
                4 => (v * 3.0).round(),
                _ => v,
            });
            if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
        };
        let matrix = Literal::from_scalars(element, &a, (0..noise.len()).map(value));
        check(&case, &[matrix], 3000.0);
    }
}

#[test]
fn reflectors_and_their_products() {
    let mut random = fastrand::Rng::with_seed(2);
    for round in 0..80 {
        let (ty, element) = TYPES[round % 4];
        let (batch, m, n) = sizes(&mut random, round);
        let (a, k) = (with(&batch, &[m, n]), with(&batch, &[m.min(n)]));
        let name = if round % 3 == 2 { "Qr" } else { "geqrf" };
        let factor = Case::of(&call(name, "", ty, &[&a], &[(&a, ""), (&k, "")]));
        let noise = values(&mut random, element, &a);
        // In some matrices, some columns are already multiples of unit vectors.
        let value = |i: usize| {
            let (row, column) = (i as i64 / n.max(1) % m.max(1), i as i64 % n.max(1));
            if round % 5 == 3 && column < 3 && row > column { Scalar::zero(element) } else { noise.get(i) }
        };
        let matrix = Literal::from_scalars(element, &a, (0..noise.len()).map(value));
        check(&factor, std::slice::from_ref(&matrix), 400.0);
        if m < n {
            continue;
        }
        let factors = runtime_results(&factor.program, factor.op, &[matrix]);
        let orgqr = if element.is_complex() { "ungqr" } else { "orgqr" };
        let name = if round % 3 == 2 { "ProductOfElementaryHouseholderReflectors" } else { orgqr };
        let product = Case::of(&call(name, "", ty, &[&a, &k], &[(&a, "")]));
        check(&product, &factors, 400.0);
    }
}

#[test]
fn factors_of_definite_matrices() {
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..60 {
        let (ty, element) = TYPES[round % 4];
        let (batch, n, _) = sizes(&mut random, round);
        let n = if round == 4 { 300 } else { n };
        let a = with(&batch, &[n, n]);
        let lower = random.bool();
        let config = format!("uplo = {} : ui8", if lower { b'L' } else { b'U' });
        let case = Case::of(&call("potrf", &config, ty, &[&a], &[(&a, ""), (&batch, "i32")]));
        let noise = values(&mut random, element, &a);
        let bad = if round % 3 == 2 && n > 0 { Some(random.i64(..n)) } else { None };
        let value = |i: usize| {
            let at = i as i64 % (n * n).max(1);
            let (row, column) = (at / n.max(1), at % n.max(1));
            let [re, im] = parts(noise.get(i));
            let diagonal = if bad == Some(row) { -1.0 } else { n as f64 + 1.0 };
            let (re, im) = if row == column { (diagonal, 0.0) } else { (re, im) };
            if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
        };
        check(&case, &[Literal::from_scalars(element, &a, (0..noise.len()).map(value))], 60.0);
    }
}

#[test]
fn triangular_systems_by_name() {
    let mut random = fastrand::Rng::with_seed(4);
    for round in 0..32 {
        let (ty, element) = TYPES[round % 4];
        let (n, free) = (random.i64(0..9), random.i64(0..9));
        let [left, lower, unit] = [(); 3].map(|()| random.bool());
        let trans = [b'N', b'T', b'C'][random.usize(..3)];
        let (a, b) = (vec![n, n], if left { vec![n, free] } else { vec![free, n] });
        let config = format!(
            "diag = {} : ui8, side = {} : ui8, trans_x = {trans} : ui8, uplo = {} : ui8",
            if unit { b'U' } else { b'N' },
            if left { b'L' } else { b'R' },
            if lower { b'L' } else { b'U' }
        );
        let case = Case::of(&call("trsm", &config, ty, &[&a, &b], &[(&b, "")]));
        let noise = values(&mut random, element, &a);
        let value = |i: usize| {
            let [re, im] = parts(noise.get(i)).map(|v| v / n as f64);
            let re = if i as i64 / n == i as i64 % n { re + 2.0 } else { re };
            if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
        };
        let matrix = Literal::from_scalars(element, &a, (0..noise.len()).map(value));
        check(&case, &[matrix, values(&mut random, element, &b)], 60.0);
    }
}

/// Returns a matrix of a batch.
pub(super) fn matrix(tensor: &Literal, batch: usize, rows: usize, columns: usize) -> Vec<Vec<Complex<f64>>> {
    let value = |i: usize| parts(tensor.get(batch * rows * columns + i));
    let row = |i: usize| (0..columns).map(|j| value(i * columns + j)).map(|[re, im]| Complex::new(re, im)).collect();
    (0..rows).map(row).collect()
}

/// Returns the largest element of `x diag(s) y - z`, where missing `s` are ones.
pub(super) fn off(
    x: &[Vec<Complex<f64>>],
    s: Option<&[f64]>,
    y: &[Vec<Complex<f64>>],
    z: &dyn Fn(usize, usize) -> Complex<f64>,
) -> f64 {
    let mut far = 0.0f64;
    for (i, row) in x.iter().enumerate() {
        for j in 0..y.first().map_or(0, Vec::len) {
            let terms = s.map_or(row.len(), <[f64]>::len);
            let sum = (0..terms).map(|k| row[k] * s.map_or(1.0, |s| s[k]) * y[k][j]).sum::<Complex<f64>>();
            far = far.max((sum - z(i, j)).norm());
        }
    }
    far
}

pub(super) fn adjoint(m: &[Vec<Complex<f64>>], columns: usize) -> Vec<Vec<Complex<f64>>> {
    (0..columns).map(|j| m.iter().map(|row| row[j].conj()).collect()).collect()
}

pub(super) fn unit(i: usize, j: usize) -> Complex<f64> {
    Complex::new(f64::from(u8::from(i == j)), 0.0)
}

#[test]
fn eigenvectors() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..60 {
        let (ty, element) = TYPES[round % 4];
        let (batch, n, _) = sizes(&mut random, round);
        // The reference is slow.
        let (n, large) = (if (2..8).contains(&round) { n.min(40) } else { n }, round < 2);
        let (a, w) = (with(&batch, &[n, n]), with(&batch, &[n]));
        let lower = random.bool();
        let name = if element.is_complex() { "heevd" } else { "syevd" };
        let config = format!("mode = 86 : ui8, uplo = {} : ui8", if lower { b'L' } else { b'U' });
        let case = Case::of(&call(name, &config, ty, &[&a], &[(&a, ""), (&w, real(ty)), (&batch, "i32")]));
        let input = values(&mut random, element, &a);
        let results = [1, 3].map(|threads| case.run(std::slice::from_ref(&input), threads));
        assert_eq!(results[0], results[1], "threads change nothing");
        let [vectors, sizes, info] = &results[0][..] else { panic!("three results") };
        let want =
            if large { Vec::new() } else { runtime_results(&case.program, case.op, std::slice::from_ref(&input)) };
        let (n, epsilon) = (n as usize, element.part().epsilon());
        for i in 0..if large { 0 } else { sizes.len() } {
            let far = (sizes.get(i).as_f64() - want[1].get(i).as_f64()).abs();
            assert!(far <= 60.0 * epsilon * n as f64, "{far}\n{}", case.text);
        }
        for b in 0..info.len() {
            let (v, a) = (matrix(vectors, b, n, n), matrix(&input, b, n, n));
            let s: Vec<f64> = (0..n).map(|i| sizes.get(b * n + i).as_f64()).collect();
            let hermitian = |i: usize, j: usize| match i == j {
                true => Complex::new(a[i][i].re, 0.0),
                false if (i > j) == lower => a[i][j],
                false => a[j][i].conj(),
            };
            let back = adjoint(&v, n);
            assert!(off(&v, Some(&s), &back, &hermitian) <= 100.0 * epsilon * n as f64, "{}", case.text);
            assert!(off(&back, None, &v, &unit) <= 60.0 * epsilon * n as f64, "{}", case.text);
            assert_eq!(info.get(b), Scalar::Int(0));
        }
        // For a few small sizes, the vectors are those of the reference too, including their phases.
        if n <= 4 && element == ElementType::F64 {
            check(&case, &[input], 1e5);
        }
    }
    let case = Case::of(&call(
        "syevd",
        "mode = 86 : ui8, uplo = 76 : ui8",
        "f32",
        &[&[2, 2]],
        &[(&[2, 2], ""), (&[2], "f32"), (&[], "i32")],
    ));
    let nan = [f64::NAN, 1.0, 1.0, 1.0].map(Scalar::Float);
    check(&case, &[Literal::from_scalars(ElementType::F32, &[2, 2], nan)], 0.0);
}

#[test]
fn eigenvectors_of_real_matrices() {
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..40 {
        let (ty, element) = TYPES[round % 2];
        let (batch, n, _) = sizes(&mut random, round);
        let large = round < 8;
        let complex = TYPES[round % 2 + 2].0;
        let (a, w) = (with(&batch, &[n, n]), with(&batch, &[n]));
        let vectors = random.u32(..4) > 0;
        let config = format!("compute_left = 78 : ui8, compute_right = {} : ui8", if vectors { b'V' } else { b'N' });
        let results: [(&[i64], &str); 5] = [(&w, ty), (&w, ty), (&a, complex), (&a, complex), (&batch, "i32")];
        let case = Case::of(&call("geev", &config, ty, &[&a], &results));
        let input = values(&mut random, element, &a);
        let found = case.run(std::slice::from_ref(&input), 1);
        let [re, im, left, right, info] = &found[..] else { panic!("five results") };
        assert!((0..left.len()).all(|i| left.get(i).is_zero()));
        let epsilon = element.epsilon() * n as f64;
        if !large {
            let want = runtime_results(&case.program, case.op, std::slice::from_ref(&input));
            for (got, want) in [(re, &want[0]), (im, &want[1])] {
                for i in 0..got.len() {
                    let far = (got.get(i).as_f64() - want.get(i).as_f64()).abs();
                    assert!(far <= 3000.0 * epsilon, "{far}\n{}", case.text);
                }
            }
        }
        let n = n as usize;
        for b in 0..info.len() {
            assert_eq!(info.get(b), Scalar::Int(0));
            let (v, a) = (matrix(right, b, n, n), matrix(&input, b, n, n));
            if !vectors {
                assert!(v.iter().flatten().all(|v| v.norm() == 0.0));
                continue;
            }
            let value = |j: usize| Complex::new(re.get(b * n + j).as_f64(), im.get(b * n + j).as_f64());
            assert!(off(&a, None, &v, &|i, j| v[i][j] * value(j)) <= 100.0 * epsilon, "{}", case.text);
            for j in 0..n {
                let length = (0..n).map(|i| v[i][j].norm_sqr()).sum::<f64>();
                assert!((length - 1.0).abs() <= 20.0 * epsilon, "{length}");
            }
        }
    }
}

#[test]
fn singular_vectors() {
    let mut random = fastrand::Rng::with_seed(6);
    for round in 0..80 {
        let (ty, element) = TYPES[round % 4];
        let (batch, m, n) = sizes(&mut random, round);
        let ((m, n), large) = (if (2..8).contains(&round) { (m.min(30), n.min(35)) } else { (m, n) }, round < 2);
        let k = m.min(n);
        let mode = [b'A', b'S', b'N'][random.usize(..3)];
        let (lefts, rights) = if mode == b'A' { (m, n) } else { (k, k) };
        let (a, s) = (with(&batch, &[m, n]), with(&batch, &[k]));
        let (u, vt) = (with(&batch, &[m, lefts]), with(&batch, &[rights, n]));
        let case = Case::of(&call(
            "gesdd",
            &format!("mode = {mode} : ui8"),
            ty,
            &[&a],
            &[(&a, ""), (&s, real(ty)), (&u, ""), (&vt, ""), (&batch, "i32")],
        ));
        let input = values(&mut random, element, &a);
        let results = [1, 3].map(|threads| case.run(std::slice::from_ref(&input), threads));
        assert_eq!(results[0], results[1], "threads change nothing");
        let [same, sizes, left, right, info] = &results[0][..] else { panic!("five results") };
        assert_eq!(*same, input);
        let want =
            if large { Vec::new() } else { runtime_results(&case.program, case.op, std::slice::from_ref(&input)) };
        let epsilon = element.part().epsilon() * m.max(n) as f64;
        for i in 0..if large { 0 } else { sizes.len() } {
            let far = (sizes.get(i).as_f64() - want[1].get(i).as_f64()).abs();
            assert!(far <= 60.0 * epsilon, "{far}\n{}", case.text);
        }
        let [m, n, k, lefts, rights] = [m, n, k, lefts, rights].map(|d| d as usize);
        for b in 0..info.len() {
            let (u, vt, a) = (matrix(left, b, m, lefts), matrix(right, b, rights, n), matrix(&input, b, m, n));
            if mode == b'N' {
                assert!(u.iter().chain(&vt).flatten().all(|v| v.norm() == 0.0));
                continue;
            }
            let s: Vec<f64> = (0..k).map(|i| sizes.get(b * k + i).as_f64()).collect();
            assert!(off(&u, Some(&s), &vt, &|i, j| a[i][j]) <= 100.0 * epsilon, "{}", case.text);
            assert!(off(&adjoint(&u, lefts), None, &u, &unit) <= 60.0 * epsilon, "{}", case.text);
            assert!(off(&vt, None, &adjoint(&vt, n), &unit) <= 60.0 * epsilon, "{}", case.text);
        }
        if k <= 3 && mode == b'S' && element == ElementType::F64 {
            check(&case, &[input], 1e5);
        }
    }
}
