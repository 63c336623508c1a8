//! Tests of random windows and scans.

use super::*;

const TYPES: [(&str, ElementType); 12] = [
    ("f32", ElementType::F32),
    ("f32", ElementType::F32),
    ("f64", ElementType::F64),
    ("bf16", ElementType::BF16),
    ("f16", ElementType::F16),
    ("i32", ElementType::I32),
    ("i64", ElementType::I64),
    ("i8", ElementType::I8),
    ("ui8", ElementType::UI8),
    ("ui32", ElementType::UI32),
    ("i1", ElementType::I1),
    ("ui64", ElementType::UI64),
];

/// Returns the name of an operation, and its neutral element as text.
fn operation(rng: &mut fastrand::Rng, element: ElementType) -> (&'static str, String) {
    let float = element.is_float();
    let lowest = |max: bool| {
        use dialect::scalar::ScalarOp;
        let op = if max { ScalarOp::Max } else { ScalarOp::Min };
        match op.identity(element) {
            Some(Scalar::Float(v)) if v < 0.0 => infinity(element, true),
            Some(Scalar::Float(_)) => infinity(element, false),
            Some(Scalar::Int(v)) if element == ElementType::I1 => (v != 0).to_string(),
            Some(Scalar::Int(v)) => v.to_string(),
            _ => unreachable!("every type here has limits"),
        }
    };
    let number = |v: i64| match (float, element) {
        (true, _) => format!("{v}.0"),
        (_, ElementType::I1) => (v != 0).to_string(),
        _ => v.to_string(),
    };
    match rng.u32(0..6) {
        0 | 1 => ("add", number(0)),
        2 => ("multiply", number(1)),
        3 => ("minimum", lowest(false)),
        4 => ("maximum", number(0)),
        _ => ("maximum", lowest(true)),
    }
}

fn infinity(element: ElementType, negative: bool) -> String {
    let bits = match element {
        ElementType::F32 => ["0x7F800000", "0xFF800000"],
        ElementType::F64 => ["0x7FF0000000000000", "0xFFF0000000000000"],
        ElementType::BF16 => ["0x7F80", "0xFF80"],
        _ => ["0x7C00", "0xFC00"],
    };
    bits[usize::from(negative)].to_owned()
}

fn text(op: &str, init: &str, ty: &str, shape: &[i64], result: &[i64], attributes: &str) -> String {
    let (from, to) = (type_text(shape, ty), type_text(result, ty));
    format!(
        "(%a: {from}) %c = stablehlo.constant dense<{init}> : tensor<{ty}> %r = \"stablehlo.reduce_window\"(%a, %c) <{{{attributes}}}> ({{
        ^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>):
          %s = stablehlo.{op} %x, %y : tensor<{ty}>
          stablehlo.return %s : tensor<{ty}>
        }}) : ({from}, tensor<{ty}>) -> {to}"
    )
}

/// Returns the operands with the initial value, which the reference needs.
fn with_init(case: &Case, input: Literal) -> Vec<Literal> {
    let init = case.view().constant_operand(1).expect("a constant").clone();
    vec![input, init]
}

fn check(case: &Case, rng: &mut fastrand::Rng, text: &str, shape: &[i64], element: ElementType, op: &str) {
    let most = if op == "multiply" { 1 } else { 2 };
    let input = whole_numbers(rng, shape, element, most);
    case.check(text, &with_init(case, input.clone()));
    if element.is_float() && input.len() > 1 {
        let mut values: Vec<Scalar> = (0..input.len()).map(|i| input.get(i)).collect();
        for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0] {
            let at = rng.usize(0..values.len());
            values[at] = Scalar::Float(special);
        }
        let input = Literal::from_scalars(element, shape, values);
        case.check(text, &with_init(case, input));
    }
}

#[test]
fn random_windows_are_exact() {
    let mut rng = fastrand::Rng::with_seed(3);
    let (mut done, mut native) = (0, 0);
    while done < 500 {
        let (ty, element) = TYPES[rng.usize(0..TYPES.len())];
        let (op, init) = operation(&mut rng, element);
        let rank = rng.usize(1..=4);
        let mut lists = [const { Vec::<i64>::new() }; 4];
        let (mut shape, mut result, mut padding) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rank {
            let size = rng.i64(0..=if rank < 3 { 20 } else { 7 });
            let plain = rng.u32(0..3) == 0;
            let (w, s, d) = if plain { (1, 1, 1) } else { (rng.i64(1..=4), rng.i64(1..=3), rng.i64(1..=2)) };
            let (low, high) = if plain { (0, 0) } else { (rng.i64(-2..=3), rng.i64(-2..=3)) };
            let padded = size + low + high;
            let spread = (w - 1) * d + 1;
            shape.push(size);
            result.push(if padded < spread { 0 } else { (padded - spread) / s + 1 });
            for (list, v) in lists.iter_mut().zip([w, s, d, 1]) {
                list.push(v);
            }
            padding.push(vec![low, high]);
        }
        let [sizes, strides, dilations, base] = &lists;
        let list = |v: &[i64]| format!("array<i64: {}>", v.iter().map(i64::to_string).collect::<Vec<_>>().join(", "));
        let attributes = format!(
            "base_dilations = {}, padding = dense<{padding:?}> : tensor<{rank}x2xi64>, window_dilations = {}, window_dimensions = {}, window_strides = {}",
            list(base),
            list(dilations),
            list(sizes),
            list(strides)
        );
        let text = text(op, &init, ty, &shape, &result, &attributes);
        done += 1;
        let Some(case) = Case::of(&text) else { continue };
        native += 1;
        check(&case, &mut rng, &text, &shape, element, op);
    }
    assert!(native > 250, "{native}");
}

fn scan_text(
    rng: &mut fastrand::Rng,
    shape: &[i64],
    dim: usize,
    backward: bool,
) -> (String, ElementType, &'static str) {
    let (ty, element) = TYPES[rng.usize(0..TYPES.len())];
    let (op, init) = operation(rng, element);
    let rank = shape.len();
    let window: Vec<String> = (0..rank).map(|d| if d == dim { shape[d] } else { 1 }.to_string()).collect();
    let far = |d: usize| if d == dim { shape[d] - 1 } else { 0 };
    let padding: Vec<[i64; 2]> = (0..rank).map(|d| if backward { [0, far(d)] } else { [far(d), 0] }).collect();
    let attributes = format!(
        "padding = dense<{padding:?}> : tensor<{rank}x2xi64>, window_dimensions = array<i64: {}>",
        window.join(", ")
    );
    (text(op, &init, ty, shape, shape, &attributes), element, op)
}

#[test]
fn random_scans_are_exact() {
    let mut rng = fastrand::Rng::with_seed(4);
    for _ in 0..200 {
        let rank = rng.usize(1..=3);
        let shape: Vec<i64> = (0..rank).map(|_| rng.i64(2..=if rank == 1 { 300 } else { 12 })).collect();
        let (dim, backward) = (rng.usize(0..rank), rng.bool());
        let (text, element, op) = scan_text(&mut rng, &shape, dim, backward);
        let case = Case::of(&text).unwrap_or_else(|| panic!("no native code: {text}"));
        check(&case, &mut rng, &text, &shape, element, op);
    }
}

/// Long lines are scanned in blocks, with the same bits on any number of threads, and near the exact sums.
#[test]
fn long_scans_do_not_depend_on_threads() {
    let n = 3 * super::super::lines::BLOCK as i64 * 2 + 77;
    let mut rng = fastrand::Rng::with_seed(5);
    for backward in [false, true] {
        let attributes = match backward {
            false => {
                format!("padding = dense<[[{}, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: {n}>", n - 1)
            }
            true => format!("padding = dense<[[0, {}]]> : tensor<1x2xi64>, window_dimensions = array<i64: {n}>", n - 1),
        };
        let case = Case::of(&text("add", "0.0", "f32", &[n], &[n], &attributes)).expect("native code");
        let values: Vec<f32> = (0..n).map(|_| rng.f32() - 0.5).collect();
        let input = Literal::from_scalars(ElementType::F32, &[n], values.iter().map(|&v| Scalar::Float(v.into())));
        let operands = with_init(&case, input);
        let [one, three] = [1, 3].map(|threads| case.run(&operands, threads).remove(0));
        assert_eq!(one, three);
        let mut sum = 0f64;
        let order: Box<dyn Iterator<Item = usize>> =
            if backward { Box::new((0..n as usize).rev()) } else { Box::new(0..n as usize) };
        for i in order {
            sum += f64::from(values[i]);
            let got = one.get(i).as_f64();
            assert!((got - sum).abs() <= 1e-7 * sum.abs() + 1e-9, "{i}: {got}, not {sum}");
        }
    }
}
