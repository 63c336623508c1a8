//! Tests of random convolutions, and of products over windows in other forms.

use dialect::ir::ElementType::{self, BF16, F16, F32, F64, I1, I8, I16, I32, I64, UI8};

use super::*;

/// Types of operands and sums, and the element type of the operands.
const TYPES: [(&str, &str, ElementType); 13] = [
    ("f32", "f32", F32),
    ("f32", "f32", F32),
    ("f64", "f64", F64),
    ("bf16", "bf16", BF16),
    ("bf16", "f32", BF16),
    ("f16", "f16", F16),
    ("i32", "i32", I32),
    ("i8", "i8", I8),
    ("i8", "i32", I8),
    ("ui8", "i64", UI8),
    ("i16", "i16", I16),
    ("i64", "i64", I64),
    ("i1", "i1", I1),
];

/// Returns a random convolution: its text, the operands' shapes and element types.
fn random(rng: &mut fastrand::Rng, large: bool) -> Option<(String, [Vec<i64>; 2], [ElementType; 2])> {
    let rank = rng.usize(0..=3);
    let (feature_groups, batch_groups) = match rng.u32(0..6) {
        0 | 1 => (rng.i64(2..=if large { 17 } else { 5 }), 1),
        2 => (1, rng.i64(2..=4)),
        _ => (1, 1),
    };
    let most = if large { 40 } else { 5 };
    let channels = if rng.u32(0..3) == 0 { 1 } else { rng.i64(1..=most) };
    let outputs = if rng.u32(0..3) == 0 { 1 } else { rng.i64(1..=most) } * feature_groups * batch_groups;
    let batch = rng.i64(1..=3) * batch_groups;
    let (mut input, mut kernel, mut result) = (Vec::new(), Vec::new(), Vec::new());
    let (mut stride, mut pad, mut base, mut window, mut reverse) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..rank {
        let size = rng.i64(1..=if large && rank < 3 { 24 } else { 6 });
        // Gradients of kernels have windows nearly as large as the input.
        let k = if rng.u32(0..4) == 0 { size } else { rng.i64(1..=3) };
        let (s, b, w) = (rng.i64(1..=3), rng.i64(1..=3), rng.i64(1..=3));
        let plain = rng.bool();
        let (s, b, w) = if plain { (s, 1, 1) } else { (s, b, w) };
        let (low, high) = (rng.i64(-2..=3), rng.i64(-2..=3));
        let padded = (size - 1) * b + 1 + low + high;
        let spread = (k - 1) * w + 1;
        if padded < 0 {
            return None;
        }
        input.push(size);
        kernel.push(k);
        result.push(if spread > padded { 0 } else { (padded - spread) / s + 1 });
        stride.push(s);
        pad.push(vec![low, high]);
        base.push(b);
        window.push(w);
        reverse.push(rng.u32(0..4) == 0);
    }
    // The reference is slow.
    let all_sizes = [&result[..], &kernel, &[channels, outputs, batch]].concat();
    if all_sizes.iter().product::<i64>() > 300_000 {
        return None;
    }
    // The dimensions of each tensor in random order: two that aren't spatial, and the spatial ones.
    let order = |rng: &mut fastrand::Rng| {
        let mut order: Vec<usize> = (0..rank + 2).collect();
        rng.shuffle(&mut order);
        order
    };
    let lay = |order: &[usize], sizes: Vec<i64>, names: [&str; 2]| {
        let mut shape = vec![0; rank + 2];
        let mut letters = vec![String::new(); rank + 2];
        for (d, &at) in order.iter().enumerate() {
            shape[at] = sizes[d];
            letters[at] = if d < 2 { names[d].to_owned() } else { (d - 2).to_string() };
        }
        (shape, letters.join(", "))
    };
    let all = |a: i64, b: i64, spatial: &[i64]| [&[a, b], spatial].concat();
    let (lhs, lhs_names) = lay(&order(rng), all(batch, channels * feature_groups, &input), ["b", "f"]);
    let (rhs, rhs_names) = lay(&order(rng), all(channels, outputs, &kernel), ["i", "o"]);
    let (out, out_names) = lay(&order(rng), all(batch / batch_groups, outputs, &result), ["b", "f"]);
    let (operand, sum, element) = TYPES[rng.usize(0..TYPES.len())];
    let (left, right, whole) = (type_text(&lhs, operand), type_text(&rhs, operand), type_text(&out, sum));
    let text = format!(
        "(%a: {left}, %k: {right}) %r = stablehlo.convolution(%a, %k) dim_numbers = [{lhs_names}]x[{rhs_names}]->[{out_names}], window = {{stride = {stride:?}, pad = {pad:?}, lhs_dilate = {base:?}, rhs_dilate = {window:?}, reverse = {reverse:?}}} {{batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64}} : ({left}, {right}) -> {whole}"
    );
    Some((text, [lhs, rhs], [element, element]))
}

/// Runs `count` random convolutions, and returns how many have native code.
fn check_random(seed: u64, count: usize, large: bool) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut done, mut native) = (0, 0);
    while done < count {
        let Some((text, shapes, types)) = random(&mut rng, large) else { continue };
        done += 1;
        let Some(case) = Case::of(&text) else { continue };
        native += 1;
        let mut operands = [0, 1].map(|i| whole_numbers(&mut rng, &shapes[i], types[i], 1));
        case.check(&text, &operands);
        if types[0].is_float() && operands.iter().all(|o| !o.is_empty()) {
            // NaN and infinities must only affect the results that read them, also next to padding.
            for operand in 0..2 {
                let n = operands[operand].len();
                let mut values: Vec<Scalar> = (0..n).map(|i| operands[operand].get(i)).collect();
                for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
                    values[rng.usize(0..n)] = Scalar::Float(special);
                }
                operands[operand] = Literal::from_scalars(types[operand], &shapes[operand], values);
                case.check(&text, &operands);
            }
        }
    }
    native
}

#[test]
fn random_small_convolutions_are_exact() {
    let native = check_random(1, 600, false);
    assert!(native > 300, "{native}");
}

#[test]
fn random_larger_convolutions_are_exact() {
    let native = check_random(2, 60, true);
    assert!(native > 30, "{native}");
}

/// If one phase has few columns, one product computes all phases. The products of single phases are kept for values
/// that aren't finite.
#[test]
fn phases_of_few_columns_are_one_product() {
    let text = "(%a: tensor<2x5x4x3xf32>, %k: tensor<7x5x3x2xf32>) %r = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[4, 3], [2, 1]], lhs_dilate = [2, 3], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x5x4x3xf32>, tensor<7x5x3x2xf32>) -> tensor<2x10x9x2xf32>";
    let case = Case::of(text).expect("it has native code");
    let Kernel::Nest(nest) = case.view().def().kernel(case.view()) else { panic!("a loop nest") };
    let problem = crate::kernels::window::problem::of(&nest, [&[2, 5, 4, 3], &[7, 5, 3, 2]]).expect("a product");
    assert_eq!(problem.products.len(), 6);
    let joined = problem.joined.expect("one product");
    assert_eq!(joined.product.columns.iter().map(|l| l.size).product::<usize>(), 12);
    let mut rng = fastrand::Rng::with_seed(3);
    let whole = |rng: &mut fastrand::Rng, shape: &[i64]| whole_numbers(rng, shape, F32, 3);
    let mut operands = [whole(&mut rng, &[2, 5, 4, 3]), whole(&mut rng, &[7, 5, 3, 2])];
    case.check(text, &operands);
    for operand in 0..2 {
        let mut values: Vec<Scalar> = (0..operands[operand].len()).map(|i| operands[operand].get(i)).collect();
        values[7] = Scalar::Float(f64::INFINITY);
        operands[operand] = Literal::from_scalars(F32, &operands[operand].ty().shape.clone(), values);
        case.check(text, &operands);
    }
}
