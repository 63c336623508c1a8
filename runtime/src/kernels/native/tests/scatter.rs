//! Tests of scatters.

use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::{Case, element, tensor, text};

/// A random scatter: the input's dimensions that are batching, collapsed or inside windows, the dimensions that indices
/// select, and the positions of batch and window dimensions in the updates.
struct Shapes {
    input: Vec<i64>,
    indices: Vec<i64>,
    updates: Vec<i64>,
    numbers: String,
}

fn shapes(random: &mut fastrand::Rng) -> Shapes {
    let rank = random.usize(1..4);
    let input: Vec<i64> = (0..rank).map(|_| random.i64(1..7)).collect();
    // 0: batching, 1: collapsed, 2: inside windows.
    let kinds: Vec<usize> = (0..rank).map(|_| *random.choice([0, 1, 1, 2, 2].iter()).unwrap_or(&1)).collect();
    let of = |kind: usize| -> Vec<usize> { (0..rank).filter(|&d| kinds[d] == kind).collect() };
    let (batching, collapsed, windowed) = (of(0), of(1), of(2));
    let mut mapped: Vec<usize> =
        (0..rank).filter(|&d| kinds[d] == 1 && random.u32(..8) > 0 || kinds[d] == 2 && random.bool()).collect();
    random.shuffle(&mut mapped);
    let free: Vec<i64> = (0..random.usize(..3)).map(|_| random.i64(0..9)).collect();
    // The batch dimensions of the indices: batching ones (by number) and others, in any order.
    let mut batch: Vec<(Option<usize>, i64)> = batching.iter().map(|&d| (Some(d), input[d])).collect();
    batch.extend(free.iter().map(|&n| (None, n)));
    random.shuffle(&mut batch);
    let vector = random.usize(..=batch.len());
    let implicit = mapped.len() == 1 && random.bool();
    let vector = if implicit { batch.len() } else { vector };
    let mut indices: Vec<i64> = batch.iter().map(|b| b.1).collect();
    if !implicit {
        indices.insert(vector, mapped.len() as i64);
    }
    let place = |d: usize| {
        let k = batch.iter().position(|b| b.0 == Some(d)).unwrap_or(0);
        if k >= vector && !implicit { k + 1 } else { k }
    };
    let indices_batching: Vec<usize> = batching.iter().map(|&d| place(d)).collect();
    let window: Vec<i64> =
        windowed.iter().map(|&d| if random.bool() { input[d] } else { random.i64(0..=input[d]) }).collect();
    let total = batch.len() + window.len();
    let mut order: Vec<usize> = (0..total).collect();
    if random.bool() {
        random.shuffle(&mut order);
    }
    let mut window_dims: Vec<usize> = order[total - window.len()..].to_vec();
    window_dims.sort_unstable();
    let (mut w, mut b) = (window.iter(), batch.iter());
    let updates: Vec<i64> = (0..total)
        .map(|d| match window_dims.contains(&d) {
            true => *w.next().expect("a window dimension"),
            false => b.next().expect("a batch dimension").1,
        })
        .collect();
    let numbers = format!(
        "#stablehlo.scatter<update_window_dims = {window_dims:?}, inserted_window_dims = {collapsed:?}, \
         input_batching_dims = {batching:?}, scatter_indices_batching_dims = {indices_batching:?}, \
         scatter_dims_to_operand_dims = {mapped:?}, index_vector_dim = {vector}>"
    );
    Shapes { input, indices, updates, numbers }
}

fn indices(random: &mut fastrand::Rng, shape: &[i64], ty: ElementType) -> Literal {
    Literal::from_fn(&TensorType::new(shape, ty), |_| match random.u32(..12) {
        0 => element(random, ty),
        _ => Scalar::Int(random.i32(-1..7).into()).round(ty),
    })
}

const TYPES: &[&str] = &[
    "f32",
    "f64",
    "bf16",
    "f16",
    "i1",
    "i8",
    "ui8",
    "i16",
    "ui16",
    "i32",
    "ui32",
    "i64",
    "ui64",
    "complex<f32>",
    "f8E4M3FN",
];

const INDICES: &[&str] = &["i32", "i64", "ui8", "ui64", "i8", "ui32"];

#[test]
fn scatters_of_every_kind() {
    let mut random = fastrand::Rng::with_seed(11);
    let combiners = ["add", "multiply", "maximum", "minimum", "and", "or", "xor", "replace", "keep", "formula"];
    for round in 0..400 {
        let s = shapes(&mut random);
        let ty = TYPES[round % TYPES.len()];
        let combiner = match combiners[random.usize(..combiners.len())] {
            "and" | "or" | "xor" if ty.contains('f') => "add",
            "maximum" | "minimum" | "formula" if ty.contains("complex") => "replace",
            "formula" if ty == "i1" => "xor",
            other => other,
        };
        let body = match combiner {
            "replace" => format!("stablehlo.return %y : tensor<{ty}>"),
            "keep" => format!("stablehlo.return %x : tensor<{ty}>"),
            "formula" => format!(
                "%d = stablehlo.subtract %x, %y : tensor<{ty}>\n%s = stablehlo.maximum %d, %y : tensor<{ty}>\nstablehlo.return %s : tensor<{ty}>"
            ),
            op => format!("%s = stablehlo.{op} %x, %y : tensor<{ty}>\nstablehlo.return %s : tensor<{ty}>"),
        };
        let index = INDICES[random.usize(..INDICES.len())];
        let types = [text(&s.input, ty), text(&s.indices, index), text(&s.updates, ty)];
        let [a, i, u] = &types;
        let case = Case::of(&format!(
            "(%a: {a}, %i: {i}, %u: {u}) %r = \"stablehlo.scatter\"(%a, %i, %u) <{{scatter_dimension_numbers = {}}}> ({{
            ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>):
              {body}
            }}) : ({a}, {i}, {u}) -> {a}",
            s.numbers
        ));
        let elements = case.types();
        let operands = [
            tensor(&mut random, elements[0], &s.input),
            indices(&mut random, &s.indices, elements[1]),
            tensor(&mut random, elements[2], &s.updates),
        ];
        case.check(&operands);
    }
}

#[test]
fn long_sums_of_rows_and_single_elements() {
    let mut random = fastrand::Rng::with_seed(12);
    for (rows, row, updates, ty) in [
        (5000, 40, 9000, "f32"),
        (300_000, 1, 5000, "f32"),
        (40, 3000, 300, "bf16"),
        (90, 2000, 70, "f64"),
        (100_000, 2, 400, "f16"),
        (7, 5, 4000, "f32"),
    ] {
        let types = [text(&[rows, row], ty), text(&[updates, 1], "i32"), text(&[updates, row], ty)];
        let [a, i, u] = &types;
        let case = Case::of(&format!(
            "(%a: {a}, %i: {i}, %u: {u}) %r = \"stablehlo.scatter\"(%a, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
            ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>):
              %s = stablehlo.add %x, %y : tensor<{ty}>
              stablehlo.return %s : tensor<{ty}>
            }}) : ({a}, {i}, {u}) -> {a}"
        ));
        let elements = case.types();
        let many = rows.min(updates / 3) as i32;
        let index = |_| Scalar::Int(random.i32(-1..=many).into());
        let indices = Literal::from_fn(&TensorType::new(&[updates, 1], ElementType::I32), index);
        let operands = [
            tensor(&mut random, elements[0], &[rows, row]),
            indices,
            tensor(&mut random, elements[2], &[updates, row]),
        ];
        case.check(&operands);
    }
}

#[test]
fn several_inputs() {
    let mut random = fastrand::Rng::with_seed(13);
    let case = Case::of(
        "(%a: tensor<6x3xf32>, %b: tensor<6x3xi32>, %i: tensor<9xi32>, %u: tensor<9x3xf32>, %v: tensor<9x3xi32>) %r:2 = \"stablehlo.scatter\"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
        ^bb0(%w: tensor<f32>, %x: tensor<i32>, %y: tensor<f32>, %z: tensor<i32>):
          %c = stablehlo.compare LT, %w, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
          %p = stablehlo.select %c, %y, %w : tensor<i1>, tensor<f32>
          %q = stablehlo.select %c, %z, %x : tensor<i1>, tensor<i32>
          stablehlo.return %p, %q : tensor<f32>, tensor<i32>
        }) : (tensor<6x3xf32>, tensor<6x3xi32>, tensor<9xi32>, tensor<9x3xf32>, tensor<9x3xi32>) -> (tensor<6x3xf32>, tensor<6x3xi32>)",
    );
    use ElementType::{F32, I32};
    for _ in 0..20 {
        let operands = [
            tensor(&mut random, F32, &[6, 3]),
            tensor(&mut random, I32, &[6, 3]),
            indices(&mut random, &[9], I32),
            tensor(&mut random, F32, &[9, 3]),
            tensor(&mut random, I32, &[9, 3]),
        ];
        case.check(&operands);
    }
}
