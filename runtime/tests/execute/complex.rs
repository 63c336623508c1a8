//! Tests complex numbers in compiled kernels, which give the reference evaluator's bits where that rounds once.

use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use shardc_runtime::subnormals::Subnormals;

use super::compared;

/// Returns a number of any kind: zeros, infinities, NaN, small integers, the largest and the smallest, usual ones.
fn number(random: &mut fastrand::Rng, element: ElementType) -> f64 {
    let extreme = if element.part() == ElementType::F32 { 120 } else { 1000 };
    let edges = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, -1.0, 2.0];
    match random.u32(..12) {
        0..3 => edges[random.usize(..edges.len())],
        3..5 => random.i32(-3..4).into(),
        5 => (random.f64() - 0.5) * 2f64.powi(random.i32(-extreme..extreme)),
        _ => (random.f64() - 0.5) * 2f64.powi(random.i32(-3..4)),
    }
}

fn input(random: &mut fastrand::Rng, ty: &TensorType, usual: bool) -> Literal {
    let mut one = |element| if usual { random.f64() * 4.0 - 2.0 } else { number(random, element) };
    Literal::from_fn(ty, |_| {
        let value = match ty.element {
            e if e.is_complex() => Scalar::Complex(one(e), one(e)),
            e if e.is_float() => Scalar::Float(one(e)),
            _ => Scalar::Int(fastrand::i128(..)),
        };
        value.round(ty.element)
    })
}

fn parts(value: Scalar) -> [f64; 2] {
    match value {
        Scalar::Complex(re, im) => [re, im],
        other => [other.as_f64(), 0.0],
    }
}

/// Compares native results with those of the evaluator. Parts may differ by `epsilons` epsilons of the value's modulus.
/// If that is 0, they must be equal, including signs of zeros.
fn check(random: &mut fastrand::Rng, text: &str, usual: bool, epsilons: f64) {
    let found = compared(text, Subnormals::Keep, |ty| input(random, ty, usual));
    for (r, (got, want)) in found.results.iter().zip(&found.expected).enumerate() {
        for i in 0..want.len() {
            let (g, w) = (parts(got.get(i)), parts(want.get(i)));
            let size = epsilons * want.element.part().epsilon() * w[0].hypot(w[1]);
            let near = |a: f64, b: f64| {
                a.to_bits() == b.to_bits()
                    || a.is_nan() && b.is_nan()
                    || epsilons > 0.0 && (a == b || (a - b).abs() <= size)
            };
            let of = found.inputs.iter().filter(|x| x.len() == want.len()).map(|x| x.get(i)).collect::<Vec<_>>();
            assert!(
                near(g[0], w[0]) && near(g[1], w[1]),
                "result {r} element {i}: {g:?}, expected {w:?}, of {of:?}\n{text}"
            );
        }
    }
}

#[test]
fn arithmetic_is_exact() {
    let mut random = fastrand::Rng::with_seed(1);
    for (c, f) in [("complex<f32>", "f32"), ("complex<f64>", "f64")] {
        for op in ["add", "subtract", "multiply", "divide", "maximum", "minimum"] {
            check(
                &mut random,
                &format!(
                    "func.func @main(%a: tensor<700x{c}>, %b: tensor<700x{c}>) -> (tensor<700x{c}>, tensor<700x{c}>) {{
                      %0 = stablehlo.{op} %a, %b : tensor<700x{c}>
                      %1 = stablehlo.negate %0 : tensor<700x{c}>
                      return %0, %1 : tensor<700x{c}>, tensor<700x{c}>
                    }}"
                ),
                false,
                0.0,
            );
        }
        for direction in ["EQ", "NE", "LT", "LE", "GT", "GE"] {
            check(
                &mut random,
                &format!(
                    "func.func @main(%a: tensor<500x{c}>, %b: tensor<500x{c}>) -> (tensor<500xi1>, tensor<500x{c}>) {{
                      %0 = stablehlo.compare {direction}, %a, %b : (tensor<500x{c}>, tensor<500x{c}>) -> tensor<500xi1>
                      %1 = stablehlo.select %0, %b, %a : tensor<500xi1>, tensor<500x{c}>
                      return %0, %1 : tensor<500xi1>, tensor<500x{c}>
                    }}"
                ),
                false,
                0.0,
            );
        }
        // One of the results exchanges parts in the memory of an operand.
        check(
            &mut random,
            &format!(
                "func.func @main(%a: tensor<9x11x{c}>, %x: tensor<9x11x{f}>) -> (tensor<9x11x{c}>, tensor<11x9x{c}>, tensor<9x11x{f}>) {{
                  %n = stablehlo.negate %a : tensor<9x11x{c}>
                  %re = stablehlo.real %n : (tensor<9x11x{c}>) -> tensor<9x11x{f}>
                  %im = stablehlo.imag %n : (tensor<9x11x{c}>) -> tensor<9x11x{f}>
                  %s = stablehlo.complex %im, %re : tensor<9x11x{c}>
                  %i = stablehlo.imag %x : tensor<9x11x{f}>
                  %z = stablehlo.complex %x, %i : tensor<9x11x{c}>
                  %p = stablehlo.multiply %z, %a : tensor<9x11x{c}>
                  %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<9x11x{c}>) -> tensor<11x9x{c}>
                  return %s, %t, %im : tensor<9x11x{c}>, tensor<11x9x{c}>, tensor<9x11x{f}>
                }}"
            ),
            false,
            0.0,
        );
    }
}

#[test]
fn conversions_to_and_from_every_type() {
    let mut random = fastrand::Rng::with_seed(2);
    for from in ["complex<f32>", "complex<f64>", "f32", "f64", "bf16", "i32", "ui8", "i64", "i1"] {
        for to in ["complex<f32>", "complex<f64>", "f32", "f64", "bf16", "i32", "ui8", "i64", "i1"] {
            if !(from.starts_with('c') || to.starts_with('c')) {
                continue;
            }
            let text = format!(
                "func.func @main(%a: tensor<300x{from}>) -> tensor<300x{to}> {{
                  %0 = stablehlo.convert %a : (tensor<300x{from}>) -> tensor<300x{to}>
                  return %0 : tensor<300x{to}>
                }}"
            );
            check(&mut random, &text, false, 0.0);
        }
    }
}

#[test]
fn moving_and_reducing() {
    let mut random = fastrand::Rng::with_seed(3);
    for c in ["complex<f32>", "complex<f64>"] {
        check(
            &mut random,
            &format!(
                "func.func @main(%a: tensor<6x17x{c}>, %k: tensor<i32>, %s: tensor<{c}>) -> (tensor<17x{c}>, tensor<6x{c}>, tensor<{c}>, tensor<9x20x{c}>, tensor<6x17x{c}>, tensor<6x17x{c}>, tensor<4x{c}>) {{
                  %z = stablehlo.constant dense<(1.0, 2.0)> : tensor<{c}>
                  %q = stablehlo.constant dense<[(1.0, -2.0), (0.5, 3.0), (0.0, -0.0), (7.0, 1.0)]> : tensor<4x{c}>
                  %n = stablehlo.negate %a : tensor<6x17x{c}>
                  %0 = stablehlo.reduce(%n init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x17x{c}>, tensor<{c}>) -> tensor<17x{c}>
                  %1 = stablehlo.reduce(%n init: %s) applies stablehlo.multiply across dimensions = [1] : (tensor<6x17x{c}>, tensor<{c}>) -> tensor<6x{c}>
                  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x17x{c}>, tensor<{c}>) -> tensor<{c}>
                  %3 = stablehlo.pad %a, %s, low = [1, -1], high = [2, 4], interior = [0, 0] : (tensor<6x17x{c}>, tensor<{c}>) -> tensor<9x20x{c}>
                  %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<{c}>) -> tensor<6x17x{c}>
                  %4 = stablehlo.subtract %n, %b : tensor<6x17x{c}>
                  %i = stablehlo.iota dim = 1 : tensor<6x17x{c}>
                  %5 = stablehlo.add %4, %i : tensor<6x17x{c}>
                  %d = stablehlo.dynamic_slice %q, %k, sizes = [4] : (tensor<4x{c}>, tensor<i32>) -> tensor<4x{c}>
                  %6 = stablehlo.multiply %d, %q : tensor<4x{c}>
                  return %0, %1, %2, %3, %4, %5, %6 : tensor<17x{c}>, tensor<6x{c}>, tensor<{c}>, tensor<9x20x{c}>, tensor<6x17x{c}>, tensor<6x17x{c}>, tensor<4x{c}>
                }}"
            ),
            true,
            // Real and imaginary parts of sums and products may cancel.
            200.0,
        );
        // A scan, an empty dimension, and a matrix product.
        check(
            &mut random,
            &format!(
                "func.func @main(%a: tensor<5x7x{c}>, %e: tensor<0x3x{c}>, %b: tensor<7x4x{c}>) -> (tensor<5x7x{c}>, tensor<3x{c}>, tensor<5x4x{c}>, tensor<0x3x{c}>) {{
                  %z = stablehlo.constant dense<(0.0, 0.0)> : tensor<{c}>
                  %0 = \"stablehlo.reduce_window\"(%a, %z) <{{padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 7>}}> ({{
                  ^bb0(%x: tensor<{c}>, %y: tensor<{c}>):
                    %s = stablehlo.add %x, %y : tensor<{c}>
                    stablehlo.return %s : tensor<{c}>
                  }}) : (tensor<5x7x{c}>, tensor<{c}>) -> tensor<5x7x{c}>
                  %1 = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x3x{c}>, tensor<{c}>) -> tensor<3x{c}>
                  %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x7x{c}>, tensor<7x4x{c}>) -> tensor<5x4x{c}>
                  %3 = stablehlo.multiply %e, %e : tensor<0x3x{c}>
                  return %0, %1, %2, %3 : tensor<5x7x{c}>, tensor<3x{c}>, tensor<5x4x{c}>, tensor<0x3x{c}>
                }}"
            ),
            true,
            50.0,
        );
    }
}

#[test]
fn functions() {
    let mut random = fastrand::Rng::with_seed(4);
    let one = [
        "abs",
        "sign",
        "exponential",
        "exponential_minus_one",
        "log",
        "log_plus_one",
        "sqrt",
        "rsqrt",
        "cbrt",
        "logistic",
        "sine",
        "cosine",
        "tan",
        "tanh",
    ];
    for (c, f) in [("complex<f32>", "f32"), ("complex<f64>", "f64")] {
        for usual in [true, false] {
            for op in one {
                let to = if op == "abs" { f } else { c };
                check(
                    &mut random,
                    &format!(
                        "func.func @main(%a: tensor<600x{c}>) -> tensor<600x{to}> {{
                          %0 = stablehlo.{op} %a : (tensor<600x{c}>) -> tensor<600x{to}>
                          return %0 : tensor<600x{to}>
                        }}"
                    ),
                    usual,
                    if c == "complex<f32>" { 1.0 } else { 16.0 },
                );
            }
            for op in ["power", "atan2"] {
                check(
                    &mut random,
                    &format!(
                        "func.func @main(%a: tensor<600x{c}>, %b: tensor<600x{c}>) -> tensor<600x{c}> {{
                          %0 = stablehlo.{op} %a, %b : tensor<600x{c}>
                          return %0 : tensor<600x{c}>
                        }}"
                    ),
                    usual,
                    if c == "complex<f32>" { 4.0 } else { 1e4 },
                );
            }
        }
    }
}
