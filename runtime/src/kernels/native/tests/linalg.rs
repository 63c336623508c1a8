//! Tests of Fourier transforms and linear algebra, up to rounding.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::{Case, runtime_results, text};

pub(super) fn parts(value: Scalar) -> [f64; 2] {
    match value {
        Scalar::Complex(re, im) => [re, im],
        other => [other.as_f64(), 0.0],
    }
}

/// Compares with the reference: no element may differ by more than `epsilons` epsilons of the largest element. Elements
/// that aren't finite must be so in both.
pub(super) fn check(case: &Case, operands: &[Literal], epsilons: f64) {
    let want = runtime_results(&case.program, case.op, operands);
    for threads in [1, 3] {
        for (got, want) in case.run(operands, threads).iter().zip(&want) {
            assert_eq!(got.ty(), want.ty());
            let all = |l: &Literal| (0..l.len()).flat_map(|i| parts(l.get(i))).collect::<Vec<f64>>();
            let (got, values) = (all(got), all(want));
            let largest = values.iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()));
            for (i, (g, w)) in got.iter().zip(&values).enumerate() {
                let near = (g - w).abs() <= epsilons * want.element.epsilon() * largest;
                let same = near || !g.is_finite() && !w.is_finite();
                assert!(same, "part {i} with {threads} threads: {g}, not {w}\n{}", case.text);
            }
        }
    }
}

pub(super) fn values(random: &mut fastrand::Rng, element: ElementType, shape: &[i64]) -> Literal {
    let count = shape.iter().product::<i64>();
    let mut one = || random.f64() * 2.0 - 1.0;
    let value = |_| if element.is_complex() { Scalar::Complex(one(), one()) } else { Scalar::Float(one()) };
    Literal::from_scalars(element, shape, (0..count).map(value))
}

pub(super) const TYPES: [(&str, ElementType); 4] = [
    ("f32", ElementType::F32),
    ("f64", ElementType::F64),
    ("complex<f32>", ElementType::C64),
    ("complex<f64>", ElementType::C128),
];

#[test]
fn fourier_transforms_of_every_kind_and_length() {
    let mut random = fastrand::Rng::with_seed(3);
    for round in 0..160 {
        let dims = 1 + random.usize(..3);
        let mut lengths: Vec<i64> = match round {
            0 => vec![1 << 15],
            1 => vec![36 * 1024],
            2 => vec![5, 1, 1],
            3 => vec![70, 33],
            4 => vec![0],
            _ => (0..dims).map(|_| random.i64(1..if dims == 1 { 90 } else { 20 })).collect(),
        };
        if round == 5 {
            lengths = vec![32_771];
        }
        let batch: Vec<i64> =
            if round < 6 { Vec::new() } else { (0..random.usize(..3)).map(|_| random.i64(0..4)).collect() };
        let kind = ["FFT", "IFFT", "RFFT", "IRFFT"][if round == 4 { 0 } else { round % 4 }];
        let wide = random.bool();
        let (real, complex) = if wide { (TYPES[1], TYPES[3]) } else { (TYPES[0], TYPES[2]) };
        let full: Vec<i64> = batch.iter().chain(&lengths).copied().collect();
        let mut half = full.clone();
        let last = half.len() - 1;
        half[last] = if half[last] == 0 { 0 } else { half[last] / 2 + 1 };
        let ((from, from_shape), (to, to_shape)) = match kind {
            "RFFT" => ((real, &full), (complex, &half)),
            "IRFFT" => ((complex, &half), (real, &full)),
            _ => ((complex, &full), (complex, &full)),
        };
        let (a, r) = (text(from_shape, from.0), text(to_shape, to.0));
        let list = lengths.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let case =
            Case::of(&format!("(%a: {a}) %r = stablehlo.fft %a, type = {kind}, length = [{list}] : ({a}) -> {r}"));
        if round == 5 {
            // The reference takes too long for a large prime. Instead, a constant is transformed, whose spectrum has
            // one nonzero number.
            let one = if from.1.is_complex() { Scalar::Complex(1.0, 0.0) } else { Scalar::Float(1.0) };
            let got = &case.run(&[Literal::splat(from.1, from_shape, one)], 1)[0];
            let first = parts(got.get(0))[0];
            assert!((0..got.len()).skip(1).all(|i| parts(got.get(i))[0].abs() <= 1e-2 * first.abs()), "{}", case.text);
            continue;
        }
        check(&case, &[values(&mut random, from.1, from_shape)], 40.0);
    }
}

#[test]
fn cholesky_of_every_type() {
    let mut random = fastrand::Rng::with_seed(4);
    for round in 0..60 {
        let (ty, element) = TYPES[round % 4];
        let n = if round < 4 { 70 } else { random.i64(0..9) };
        let batch: Vec<i64> = (0..random.usize(..2)).map(|_| random.i64(0..4)).collect();
        let shape: Vec<i64> = batch.iter().copied().chain([n, n]).collect();
        let (lower, a) = (random.bool(), text(&shape, ty));
        let case = Case::of(&format!("(%a: {a}) %r = stablehlo.cholesky %a, lower = {lower} : {a}"));
        let noise = values(&mut random, element, &shape);
        // Small numbers next to a large diagonal. The other triangle is arbitrary, and one matrix isn't definite.
        let bad = round % 5 == 4;
        let value = |i: usize| {
            let at = i as i64 % (n * n).max(1);
            let (row, column) = (at / n.max(1), at % n.max(1));
            let [re, im] = parts(noise.get(i));
            let diagonal = if bad && row == n / 2 { -1.0 } else { n as f64 + 1.0 };
            let (re, im) = if row == column { (diagonal, 0.0) } else { (re, im) };
            if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
        };
        check(&case, &[Literal::from_scalars(element, &shape, (0..noise.len()).map(value))], 60.0);
    }
}

#[test]
fn triangular_systems_of_every_form() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..160 {
        let (ty, element) = TYPES[round % 4];
        let (n, free) = if round < 8 { (40, 150) } else { (random.i64(0..8), random.i64(0..8)) };
        let batch: Vec<i64> = (0..random.usize(..2)).map(|_| random.i64(0..4)).collect();
        let with = |last: [i64; 2]| batch.iter().copied().chain(last).collect::<Vec<i64>>();
        let (left, lower, unit) = (random.bool(), random.bool(), random.bool());
        let transpose = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"][random.usize(..3)];
        let (a_shape, b_shape) = (with([n, n]), with(if left { [n, free] } else { [free, n] }));
        let (a, b) = (text(&a_shape, ty), text(&b_shape, ty));
        let case = Case::of(&format!(
            "(%a: {a}, %b: {b}) %r = \"stablehlo.triangular_solve\"(%a, %b) <{{left_side = {left}, lower = {lower}, \
             transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = {unit}}}> : ({a}, {b}) -> {b}"
        ));
        let noise = values(&mut random, element, &a_shape);
        let value = |i: usize| {
            let at = i as i64 % (n * n).max(1);
            let [re, im] = parts(noise.get(i)).map(|v| v / n.max(1) as f64);
            let re = if at / n.max(1) == at % n.max(1) { re + 2.0 } else { re };
            if element.is_complex() { Scalar::Complex(re, im) } else { Scalar::Float(re) }
        };
        let matrix = Literal::from_scalars(element, &a_shape, (0..noise.len()).map(value));
        check(&case, &[matrix, values(&mut random, element, &b_shape)], 60.0);
    }
}
