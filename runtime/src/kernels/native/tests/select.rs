//! Tests of windows that select an element.

use super::{Case, tensor, text};

#[test]
fn windows_of_every_shape() {
    let mut random = fastrand::Rng::with_seed(31);
    let types = ["f32", "bf16", "i32", "f64", "ui8", "i1", "f8E4M3FN"];
    for round in 0..300 {
        let ty = types[round % types.len()];
        let rank = random.usize(1..4);
        let mut shape: Vec<i64> = (0..rank).map(|_| random.i64(1..8)).collect();
        let windowed: Vec<bool> = (0..rank).map(|_| random.bool()).collect();
        if !windowed[rank - 1] && random.bool() {
            shape[rank - 1] = random.i64(60..140);
        }
        let mut of = |plain: i64, range: std::ops::Range<i64>| -> Vec<i64> {
            windowed.iter().map(|&w| if w { random.i64(range.clone()) } else { plain }).collect()
        };
        let (sizes, strides) = (of(1, 1..4), of(1, 1..4));
        let (low, high) = (of(0, -1..3), of(0, -1..3));
        let count = |d: usize| {
            let padded = shape[d] + low[d] + high[d];
            if padded < sizes[d] || padded <= 0 { 0 } else { (padded - sizes[d]) / strides[d] + 1 }
        };
        let source: Vec<i64> = (0..rank).map(count).collect();
        let padding: Vec<String> = low.iter().zip(&high).map(|(l, h)| format!("[{l}, {h}]")).collect();
        let by = ["GE", "GT", "LE", "LT", "NE"][random.usize(..5)];
        let arithmetic = ["add", "maximum", "minimum", "multiply"];
        let combine = match random.usize(..5) {
            4 if ty != "i1" => "subtract",
            i => arithmetic[i % 4],
        };
        let (a, s) = (text(&shape, ty), text(&source, ty));
        let case = Case::of(&format!(
            "(%a: {a}, %s: {s}, %i: tensor<{ty}>) %r = \"stablehlo.select_and_scatter\"(%a, %s, %i) <{{padding = dense<[{}]> : tensor<{rank}x2xi64>, window_dimensions = array<i64: {}>, window_strides = array<i64: {}>}}> ({{
            ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>):
              %p = stablehlo.compare {by}, %x, %y : (tensor<{ty}>, tensor<{ty}>) -> tensor<i1>
              stablehlo.return %p : tensor<i1>
            }}, {{
            ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>):
              %t = stablehlo.{combine} %x, %y : tensor<{ty}>
              stablehlo.return %t : tensor<{ty}>
            }}) : ({a}, {s}, tensor<{ty}>) -> {a}",
            padding.join(", "),
            sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
            strides.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
        ));
        let element = case.types()[0];
        let operands = [
            tensor(&mut random, element, &shape),
            tensor(&mut random, element, &source),
            tensor(&mut random, element, &[]),
        ];
        case.check(&operands);
    }
}
