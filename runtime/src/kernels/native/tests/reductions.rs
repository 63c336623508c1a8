//! Tests of reductions of matrices and of results from the Schur form: against the reference up to rounding, and by
//! their defining equations.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use rustfft::num_complex::Complex;

use super::decomposition::{adjoint, call, matrix, off, unit, with};
use super::linalg::{TYPES, check, parts, values};
use super::{Case, runtime_results};

/// Returns random sizes, among them 0, 1, and more than a block; and batches.
fn sizes(random: &mut fastrand::Rng, round: usize) -> (Vec<i64>, i64, i64) {
    let batch = (0..random.usize(..2)).map(|_| random.i64(0..4)).collect();
    match round {
        0..4 => (Vec::new(), 52, 52),
        4 => (Vec::new(), 65, 31),
        5 => (Vec::new(), 31, 80),
        _ => (batch, random.i64(0..10), random.i64(0..10)),
    }
}

#[test]
fn hessenberg_and_tridiagonal_matrices() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..72 {
        let (ty, element) = TYPES[round % 4];
        let (batch, n, _) = sizes(&mut random, round);
        let (a, beside) = (with(&batch, &[n, n]), with(&batch, &[(n - 1).max(0)]));
        if round % 3 == 0 {
            let high = if round < 8 || n == 0 { n } else { random.i64(1..=n) };
            let low = if round < 8 || n == 0 { 1 } else { random.i64(1..=high) };
            let config = format!("low = {low} : i32, high = {high} : i32");
            let case = Case::of(&call("gehrd", &config, ty, &[&a], &[(&a, ""), (&beside, ""), (&batch, "i32")]));
            check(&case, &[values(&mut random, element, &a)], 4000.0);
            continue;
        }
        // Elements near the end of a large matrix are dominated by rounding.
        let n = if round < 8 { n.min(40) } else { n };
        let (a, beside) = (with(&batch, &[n, n]), with(&batch, &[(n - 1).max(0)]));
        let (name, w) = (if element.is_complex() { "hetrd" } else { "sytrd" }, with(&batch, &[n]));
        let part = if element.part() == ElementType::F64 { "f64" } else { "f32" };
        let config = format!("uplo = {} : ui8", if random.bool() { b'L' } else { b'U' });
        let results: [(&[i64], &str); 5] = [(&a, ""), (&w, part), (&beside, part), (&beside, ""), (&batch, "i32")];
        let case = Case::of(&call(name, &config, ty, &[&a], &results));
        check(&case, &[values(&mut random, element, &a)], 4000.0);
    }
}

#[test]
fn large_tridiagonal_matrices_between_unitary_ones() {
    let mut random = fastrand::Rng::with_seed(16);
    for (ty, element) in TYPES {
        let n = 52;
        let (name, part) = (if element.is_complex() { "hetrd" } else { "sytrd" }, element.part());
        let real = if part == ElementType::F64 { "f64" } else { "f32" };
        let results: [(&[i64], &str); 5] =
            [(&[n, n], ""), (&[n], real), (&[n - 1], real), (&[n - 1], ""), (&[], "i32")];
        let case = Case::of(&call(name, "uplo = 76 : ui8", ty, &[&[n, n]], &results));
        let input = values(&mut random, element, &[n, n]);
        let got = case.run(std::slice::from_ref(&input), 1);
        let n = n as usize;
        let (v, a) = (matrix(&got[0], 0, n, n), matrix(&input, 0, n, n));
        let number = |which: usize, i: usize| {
            let [re, im] = parts(got[which].get(i));
            Complex::new(re, im)
        };
        let mut m: Vec<Vec<Complex<f64>>> = vec![vec![Complex::ZERO; n]; n];
        for i in 0..n {
            m[i][i] = number(1, i);
            if i > 0 {
                (m[i][i - 1], m[i - 1][i]) = (number(2, i - 1), number(2, i - 1));
            }
        }
        // Applies each reflector, the last first, from the left and, because it is Hermitian, from the left of the
        // adjoint.
        for k in (0..n - 1).rev() {
            let vector = |i: usize| if i == k + 1 { Complex::ONE } else { v[i][k] };
            for _ in 0..2 {
                for j in 0..n {
                    let sum: Complex<f64> = (k + 1..n).map(|i| vector(i).conj() * m[i][j]).sum();
                    (k + 1..n).for_each(|i| m[i][j] -= number(3, k) * vector(i) * sum);
                }
                m = adjoint(&m, n);
            }
        }
        let far = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .fold(0.0f64, |f, (i, j)| f.max((m[i][j] - a[i][j]).norm()));
        assert!(far <= 100.0 * part.epsilon() * n as f64, "{far} {ty}");
    }
}

#[test]
fn columns_by_length_and_products_with_reflectors() {
    let mut random = fastrand::Rng::with_seed(12);
    for round in 0..60 {
        let (ty, element) = TYPES[round % 4];
        let (batch, m, n) = sizes(&mut random, round);
        let k = with(&batch, &[m.min(n)]);
        let (a, order) = (with(&batch, &[m, n]), with(&batch, &[n]));
        let text = call("geqp3", "", ty, &[&a, &order], &[(&a, ""), (&order, "i32"), (&k, "")]);
        // The second operand has integers.
        let dims = |shape: &[i64], ty: &str| super::text(shape, ty);
        let text = text.replace(&format!("%a1: {}", dims(&order, ty)), &format!("%a1: {}", dims(&order, "i32")));
        let (from, to) = (format!(", {}) -> (", dims(&order, ty)), format!(", {}) -> (", dims(&order, "i32")));
        let case = Case::of(&text.replace(&from, &to));
        let input = values(&mut random, element, &a);
        let fixed = (0..order.iter().product()).map(|_| Scalar::Int((random.u32(..5) / 4).into()));
        let fixed = Literal::from_scalars(ElementType::I32, &order, fixed);
        check(&case, &[input.clone(), fixed.clone()], 2000.0);
        if m == 0 || n == 0 {
            continue;
        }
        let found = runtime_results(&case.program, case.op, &[input, fixed]);
        let (left, transpose) = (random.bool(), random.bool());
        let c = with(&batch, &if left { [m, 7] } else { [5, m] });
        let config = format!("left = {}, transpose = {}", left, transpose);
        let name = if element.is_complex() { "unmqr" } else { "ormqr" };
        // One reflector less than the maximum.
        let few = with(&batch, &[m.min(n) - 1]);
        let taus = Literal::from_scalars(element, &few, {
            let each = m.min(n) as usize;
            (0..found[2].len()).filter(|i| (i + 1) % each != 0).map(|i| found[2].get(i)).collect::<Vec<_>>()
        });
        let case = Case::of(&call(name, &config, ty, &[&a, &few, &c], &[(&c, "")]));
        check(&case, &[found[0].clone(), taus, values(&mut random, element, &c)], 200.0);
    }
}

#[test]
fn systems_with_three_diagonals() {
    let mut random = fastrand::Rng::with_seed(13);
    for round in 0..60 {
        let (ty, element) = TYPES[round % 4];
        let batch: Vec<i64> = (0..random.usize(..2)).map(|_| random.i64(0..4)).collect();
        let (n, columns) = (if round < 4 { 300 } else { random.i64(0..9) }, random.i64(0..5));
        let (line, b) = (with(&batch, &[n]), with(&batch, &[n, columns]));
        let results: [(&[i64], &str); 5] = [(&line, ""), (&line, ""), (&line, ""), (&b, ""), (&batch, "i32")];
        let case = Case::of(&call("gtsv", "", ty, &[&line, &line, &line, &b], &results));
        let lines = [0, 1, 2].map(|which| {
            let noise = values(&mut random, element, &line);
            // Some have a zero on the diagonal with zeros below it, or integers, whose sizes are equal.
            let value = |i: usize| {
                let at = i as i64 % n.max(1);
                let [re, im] = parts(noise.get(i)).map(|v| match round % 6 {
                    4 if which < 2 && at >= n / 2 => 0.0,
                    5 => (v * 2.0).round() + if which == 1 { 4.0 } else { 0.0 },
                    _ => v,
                });
                if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
            };
            Literal::from_scalars(element, &line, (0..noise.len()).map(value))
        });
        let [below, middle, above] = lines;
        check(&case, &[below, middle, above, values(&mut random, element, &b)], 4e4);
    }
}

/// Returns a matrix with eigenvalues of a given kind.
fn special(random: &mut fastrand::Rng, element: ElementType, shape: &[i64], kind: usize) -> Literal {
    let n = shape[shape.len() - 1].max(1);
    let noise = values(random, element, shape);
    let value = |i: usize| {
        let (row, column) = (i as i64 / n % n, i as i64 % n);
        let is = |yes: bool| f64::from(u8::from(yes));
        let [re, im] = match kind {
            // One eigenvalue with one eigenvector; all eigenvalues on a circle; only the eigenvalue 0.
            1 => [2.0 * is(row == column) + is(row + 1 == column), 0.0],
            2 => [is(row == (column + 1) % n), 0.0],
            3 => [0.0, 0.0],
            4 => [is(row + 1 == column) - is(column + 1 == row), 0.0],
            5 if i == 0 => [f64::NAN, 0.0],
            _ => parts(noise.get(i)),
        };
        if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
    };
    Literal::from_scalars(element, shape, (0..noise.len()).map(value))
}

/// Returns the kind of a round's matrices.
fn kind(round: usize) -> usize {
    if round < 8 { 0 } else { round / 8 % 6 }
}

#[test]
fn triangles_between_unitary_matrices() {
    let mut random = fastrand::Rng::with_seed(14);
    for round in 0..72 {
        let (ty, element) = TYPES[round % 4];
        let (batch, n, _) = sizes(&mut random, round);
        let (a, w) = (with(&batch, &[n, n]), with(&batch, &[n]));
        let vectors = round < 8 || random.u32(..4) > 0;
        let config = format!("mode = {} : ui8, sort = 78 : ui8", if vectors { b'V' } else { b'N' });
        let mut results: Vec<(&[i64], &str)> = vec![(&a, ""), (&a, "")];
        results.extend(vec![(&w[..], ""); if element.is_complex() { 1 } else { 2 }]);
        results.extend([(&batch[..], "i32"); 2]);
        let case = Case::of(&call("gees", &config, ty, &[&a], &results));
        let input = special(&mut random, element, &a, kind(round));
        let got = [1, 3].map(|threads| case.run(std::slice::from_ref(&input), threads));
        if kind(round) != 5 {
            assert_eq!(got[0], got[1], "threads change nothing");
        }
        let info = &got[0][got[0].len() - 1];
        let (n, epsilon) = (n as usize, element.part().epsilon());
        for b in 0..info.len() {
            let (t, q, a) = (matrix(&got[0][0], b, n, n), matrix(&got[0][1], b, n, n), matrix(&input, b, n, n));
            if a.iter().flatten().any(|v| v.is_nan()) {
                assert_eq!(info.get(b), Scalar::Int(n as i128));
                assert!(t.iter().flatten().all(|v| v.is_nan()));
                continue;
            }
            assert_eq!(info.get(b), Scalar::Int(0), "{}", case.text);
            for i in 1..n {
                assert!((0..i - usize::from(!element.is_complex())).all(|j| t[i][j].norm() == 0.0));
                if t[i][i - 1].norm() > 0.0 {
                    assert!(t[i][i] == t[i - 1][i - 1] && t[i][i - 1].re * t[i - 1][i].re < 0.0);
                }
            }
            if !vectors {
                assert!(q.iter().flatten().all(|v| v.norm() == 0.0));
                continue;
            }
            let back = adjoint(&q, n);
            let half: Vec<Vec<Complex<f64>>> =
                q.iter().map(|row| (0..n).map(|j| (0..n).map(|k| row[k] * t[k][j]).sum()).collect()).collect();
            assert!(off(&half, None, &back, &|i, j| a[i][j]) <= 60.0 * epsilon * n as f64, "{}", case.text);
            assert!(off(&back, None, &q, &unit) <= 60.0 * epsilon * n as f64, "{}", case.text);
        }
        // Signs may depend on the last bit of an element that converges to 0, so all bits must be the reference's.
        if n <= 61 && kind(round) != 5 {
            case.check(&[input]);
        }
    }
}

#[test]
fn eigenvectors_on_both_sides() {
    let mut random = fastrand::Rng::with_seed(15);
    for round in 0..72 {
        let (ty, element) = TYPES[round % 4];
        let (batch, n, _) = sizes(&mut random, round);
        let complex = if element.is_complex() { ty } else { TYPES[round % 4 + 2].0 };
        let (a, w) = (with(&batch, &[n, n]), with(&batch, &[n]));
        // Real matrices without left eigenvectors have another test.
        let [left, right] = [!element.is_complex() || random.bool(), random.bool()];
        let letter = |on: bool| if on { b'V' } else { b'N' };
        let config = format!("compute_left = {} : ui8, compute_right = {} : ui8", letter(left), letter(right));
        let mut results: Vec<(&[i64], &str)> = vec![(&w, ""); if element.is_complex() { 1 } else { 2 }];
        results.extend([(&a[..], complex), (&a[..], complex), (&batch[..], "i32")]);
        let case = Case::of(&call("geev", &config, ty, &[&a], &results));
        let input = special(&mut random, element, &a, kind(round));
        let got = case.run(std::slice::from_ref(&input), 1);
        let [found @ .., lefts, rights, info] = &got[..] else { panic!("four results or five") };
        let (n, epsilon) = (n as usize, element.part().epsilon() * n as f64);
        for b in 0..info.len() {
            let (l, r, a) = (matrix(lefts, b, n, n), matrix(rights, b, n, n), matrix(&input, b, n, n));
            if a.iter().flatten().any(|v| v.is_nan()) {
                assert_eq!(info.get(b), Scalar::Int(n as i128));
                assert!(parts(found[0].get(b * n))[0].is_nan());
                continue;
            }
            assert_eq!(info.get(b), Scalar::Int(0), "{}", case.text);
            let value = |j: usize| match found {
                [w] => parts(w.get(b * n + j)),
                both => [both[0].get(b * n + j).as_f64(), both[1].get(b * n + j).as_f64()],
            };
            let value = |j: usize| Complex::new(value(j)[0], value(j)[1]);
            let turned = adjoint(&a, n);
            for (of, vectors, wanted, is_turned) in [(&a, &r, right, false), (&turned, &l, left, true)] {
                if !wanted {
                    assert!(vectors.iter().flatten().all(|v| v.norm() == 0.0));
                    continue;
                }
                let times = |i: usize, j: usize| vectors[i][j] * if is_turned { value(j).conj() } else { value(j) };
                assert!(off(of, None, vectors, &times) <= 100.0 * epsilon, "{}", case.text);
                for j in 0..n {
                    let length = (0..n).map(|i| vectors[i][j].norm_sqr()).sum::<f64>();
                    assert!((length - 1.0).abs() <= 20.0 * epsilon, "{length}");
                }
            }
        }
        if n <= 8 && kind(round) == 0 {
            check(&case, &[input], 1e6);
        }
    }
}
