//! Tests that kernels with vectors of neighboring elements give the reference evaluator's results bit for bit: random
//! bodies of exact operations, every element type, rows shorter and longer than a vector, with and without remainder,
//! on one thread and on several.

use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use fastrand::Rng;
use shardc_runtime::subnormals::Subnormals;

use super::compared;

fn of<'a>(r: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[r.usize(..choices.len())]
}

const TYPES: [&str; 16] = [
    "f32",
    "f32",
    "f64",
    "bf16",
    "f16",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui8",
    "ui32",
    "i1",
    "f8E4M3FN",
    "f8E5M2",
    "f8E4M3FNUZ",
    "f6E2M3FN",
];

const ROWS: [usize; 14] = [0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 130];

/// Returns a program of about `length` operations over tensors of one shape: elementwise ones, positions, repeated rows
/// and columns. Some sum over columns, and their readers may overwrite what they have read.
fn program(r: &mut Rng, length: usize) -> String {
    let shape = if r.usize(..12) == 0 { (1, r.usize(40_000..40_040)) } else { (r.usize(1..5), ROWS[r.usize(..14)]) };
    program_of(r, length, shape)
}

fn program_of(r: &mut Rng, length: usize, (rows, columns): (usize, usize)) -> String {
    let ty = of(r, &TYPES);
    let shape = if rows == 1 && r.bool() { format!("{columns}x") } else { format!("{rows}x{columns}x") };
    let rank = shape.matches('x').count();
    let t = format!("tensor<{shape}{ty}>");
    let (row, column) =
        (format!("tensor<{columns}x{ty}>"), format!("tensor<{}x{ty}>", if rank == 1 { columns } else { rows }));
    let mut out = format!(
        "func.func @main(%v0: {t}, %v1: {t}, %row: {row}, %column: {column}) -> {t} {{
  %v2 = stablehlo.broadcast_in_dim %row, dims = [{}] : ({row}) -> {t}
  %v3 = stablehlo.broadcast_in_dim %column, dims = [0] : ({column}) -> {t}
  %zero = stablehlo.constant dense<{}> : tensor<{ty}>\n",
        rank - 1,
        if ty == "i1" {
            "false"
        } else if ty.contains('i') {
            "0"
        } else {
            "0.0"
        },
    );
    let (float, bool) = (ty.starts_with('f') || ty == "bf16", ty == "i1");
    let mut values = 4;
    for i in 0..length {
        let [a, b, c] = [0; 3].map(|_| format!("%v{}", r.usize(..values)));
        let v = format!("%v{values}");
        let line = match r.usize(..11) {
            0 if !bool => format!("{v} = stablehlo.negate {a} : {t}"),
            1 if float => format!("{v} = stablehlo.{} {a} : {t}", of(r, &["sqrt", "floor", "abs", "sign", "round_nearest_even"])),
            1 => format!("{v} = stablehlo.not {a} : {t}"),
            2 | 3 if float => format!("{v} = stablehlo.{} {a}, {b} : {t}", of(r, &["divide", "multiply", "subtract"])),
            2 | 3 if !bool => format!(
                "{v} = stablehlo.{} {a}, {b} : {t}",
                of(r, &["divide", "multiply", "subtract", "shift_left", "shift_right_logical", "xor"])
            ),
            4 => format!("{v} = stablehlo.{} {a}, {b} : {t}", of(r, &["maximum", "minimum"])),
            5 => format!(
                "%p{i} = stablehlo.compare {}, {a}, {b} : ({t}, {t}) -> tensor<{shape}i1>
  {v} = stablehlo.select %p{i}, {b}, {c} : tensor<{shape}i1>, {t}",
                of(r, &["LT", "GE", "EQ", "NE"])
            ),
            6 => format!(
                "%i{i} = stablehlo.iota dim = {} : tensor<{shape}i32>
  %l{i} = stablehlo.constant dense<{}> : tensor<{shape}i32>
  %p{i} = stablehlo.compare LT, %i{i}, %l{i} : (tensor<{shape}i32>, tensor<{shape}i32>) -> tensor<{shape}i1>
  {v} = stablehlo.select %p{i}, {b}, {c} : tensor<{shape}i1>, {t}",
                r.usize(..rank),
                r.usize(..20)
            ),
            7 if !bool => {
                let other = of(r, &["f32", "i32", "i64", "f64", "i8"]);
                format!(
                    "%p{i} = stablehlo.convert {a} : ({t}) -> tensor<{shape}{other}>
  {v} = stablehlo.convert %p{i} : (tensor<{shape}{other}>) -> {t}"
                )
            }
            8 if rank == 2 => format!(
                "%s{i} = stablehlo.reduce({a} init: %zero) applies stablehlo.maximum across dimensions = [0] : ({t}, tensor<{ty}>) -> {row}
  {v} = stablehlo.broadcast_in_dim %s{i}, dims = [1] : ({row}) -> {t}"
            ),
            9 if rank == 2 => format!(
                "%s{i} = stablehlo.reduce({a} init: %zero) applies stablehlo.minimum across dimensions = [1] : ({t}, tensor<{ty}>) -> {column}
  {v} = stablehlo.broadcast_in_dim %s{i}, dims = [0] : ({column}) -> {t}"
            ),
            10 => format!("{v} = stablehlo.reverse {a}, dims = [{}] : {t}", r.usize(..rank)),
            _ => format!("{v} = stablehlo.add {a}, {b} : {t}"),
        };
        out.push_str(&format!("  {line}\n"));
        values += 1;
    }
    out.push_str(&format!("  return %v{} : {t}\n}}\n", values - 1));
    out
}

/// Returns values that include special ones.
fn input(ty: &TensorType, r: &mut Rng) -> Literal {
    Literal::from_fn(ty, |_| match ty.element {
        e if e.is_float() => Scalar::Float(match r.usize(..12) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => -0.0,
            4 => 0.0,
            n => (r.usize(..4001) as f64 - 2000.0) / [1.0, 7.0, 64.0, 1024.0][n % 4],
        })
        .round(e),
        ElementType::I1 => Scalar::Int(r.bool().into()),
        e => Scalar::Int(r.i32(-1 << 19..1 << 19).into()).round(e),
    })
}

#[test]
fn vectors_compute_what_single_elements_do() {
    let mut r = Rng::with_seed(1);
    let mut vectors = 0;
    for _ in 0..150 {
        let length = r.usize(1..15);
        let text = program(&mut r, length);
        vectors += usize::from(equals_the_reference(&text, &mut r));
    }
    assert!(vectors > 60, "only {vectors} programs have vectors");
}

/// Values that leave the cache between kernels, which then run block by block of rows.
#[test]
fn blocks_of_rows_compute_what_whole_kernels_do() {
    let mut r = Rng::with_seed(2);
    for _ in 0..4 {
        let (length, shape) = (r.usize(6..16), (64 * r.usize(2..4), r.usize(2000..2100)));
        let text = program_of(&mut r, length, shape);
        equals_the_reference(&text, &mut r);
    }
}

/// All floats of a byte and less: every pattern to other types; and from other types midpoints of neighbors, numbers
/// next to them and values past the largest.
#[test]
fn small_floats_are_converted_exactly() {
    let small = ElementType::ALL.iter().copied().filter(|t| t.is_float() && t.bits() <= 8);
    for ty in small.clone() {
        let t = ty.text().expect("a known type");
        let patterns: Vec<Scalar> =
            (0..=u8::MAX).map(|bits| Scalar::decode(ty, &[bits & (u8::MAX >> (8 - ty.bits()))])).collect();
        let mut finite: Vec<f64> = patterns.iter().map(|p| p.as_f64()).filter(|v| v.is_finite()).collect();
        finite.sort_by(f64::total_cmp);
        let middles = finite.windows(2).map(|pair| pair[0] + (pair[1] - pair[0]) / 2.0);
        let near = |v: f64| [v, f64::from_bits(v.to_bits() + 1), f64::from_bits(v.to_bits().saturating_sub(1))];
        let special =
            [0.0, -0.0, f64::NAN, f64::INFINITY, -f64::INFINITY, 1e30, -1e30, 1e-30, -1e-30, 480.0, 464.0, 5e8];
        let mut values: Vec<f64> = middles.chain(finite.iter().copied()).flat_map(near).chain(special).collect();
        values.resize(1600, 1.0);
        let others = ["f64", "f32", "bf16", "i32", "ui8", if t == "f8E5M2" { "f8E4M3FN" } else { "f8E5M2" }];
        let from = others.map(|o| format!("tensor<1600x{o}>"));
        let (mut body, mut results, mut types) = (String::new(), Vec::new(), Vec::new());
        for (i, o) in others.iter().enumerate() {
            body += &format!("  %x{i} = stablehlo.convert %a{i} : ({}) -> tensor<1600x{t}>\n", from[i]);
            body += &format!("  %y{i} = stablehlo.convert %p : (tensor<256x{t}>) -> tensor<256x{o}>\n");
            results.extend([format!("%x{i}"), format!("%y{i}")]);
            types.extend([format!("tensor<1600x{t}>"), format!("tensor<256x{o}>")]);
        }
        let arguments: Vec<String> = from.iter().enumerate().map(|(i, ty)| format!("%a{i}: {ty}")).collect();
        let (results, types) = (results.join(", "), types.join(", "));
        let text = format!(
            "func.func @main({}, %p: tensor<256x{t}>) -> ({types}) {{\n{body}  return {results} : {types}\n}}\n",
            arguments.join(", ")
        );
        let numbers = |ty: &TensorType| match ty.element {
            e if ty.shape[0] == 256 => Literal::from_scalars(e, &ty.shape, patterns.iter().copied()),
            e if e.is_float() => Literal::from_fn(ty, |i| Scalar::Float(values[i]).round(e)),
            e => Literal::from_fn(ty, |i| Scalar::Int(values[i].clamp(-1e9, 1e9) as i128 + i as i128 % 3).round(e)),
        };
        equals_on(&text, numbers);
    }
}

/// Dimensions of one element before, between and after others, kept and summed over. All sums are exact.
#[test]
fn dimensions_of_one_element_are_no_loops() {
    for (shape, dims, out) in [
        ("1x300x40x1", "0, 1, 3", "40"),
        ("300x1x40x1", "1, 3", "300x40"),
        ("1x1x1", "0, 1, 2", ""),
        ("1x300x1x40", "3", "1x300x1"),
        ("300x40x1", "0", "40x1"),
    ] {
        for ty in ["f32", "i32", "bf16", "complex<f32>"] {
            let t = format!("tensor<{shape}x{ty}>");
            let to = if out.is_empty() { format!("tensor<{ty}>") } else { format!("tensor<{out}x{ty}>") };
            let zero = match ty {
                "i32" => "0",
                "complex<f32>" => "(0.0, 0.0)",
                _ => "0.0",
            };
            let text = format!(
                "func.func @main(%a: {t}, %b: {t}) -> ({to}, {t}) {{
                  %zero = stablehlo.constant dense<{zero}> : tensor<{ty}>
                  %s = stablehlo.subtract %a, %b : {t}
                  %r = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [{dims}] : ({t}, tensor<{ty}>) -> {to}
                  %v = stablehlo.reverse %s, dims = [0] : {t}
                  return %r, %v : {to}, {t}
                }}"
            );
            let mut r = Rng::with_seed(3);
            equals_on(&text, |ty| {
                let mut number = || r.usize(..3) as f64 - 1.0;
                Literal::from_fn(ty, |_| match ty.element {
                    ElementType::C64 => Scalar::Complex(number(), number()),
                    ElementType::I32 => Scalar::Int(number() as i128),
                    _ => Scalar::Float(number()),
                })
            });
        }
    }
}

/// Sums and maxima of columns whose rows are scaled, and of products that no library computes, both of types that are
/// summed in wider types and of others. All sums are exact.
#[test]
fn columns_of_scaled_rows_are_reduced_by_vectors() {
    for (rows, columns) in [(1, 8), (5, 33), (0, 9), (7, 130), (3, 20_000)] {
        for ty in ["f32", "f64", "bf16", "f16", "i32", "f8E4M3FN", "complex<f32>"] {
            let (t, to, by) = (
                format!("tensor<{rows}x{columns}x{ty}>"),
                format!("tensor<{columns}x{ty}>"),
                format!("tensor<{rows}x{ty}>"),
            );
            let (zero, one) = match ty {
                "i32" => ("0", "1"),
                "complex<f32>" => ("(0.0, 0.0)", "(1.0, 0.0)"),
                _ => ("0.0", "1.0"),
            };
            let other = if ty == "complex<f32>" { "add" } else { "maximum" };
            let text = format!(
                "func.func @main(%a: {t}, %b: {by}, %c: tensor<{ty}>) -> ({to}, {to}, {to}) {{
                  %zero = stablehlo.constant dense<{zero}> : tensor<{ty}>
                  %one = stablehlo.constant dense<{one}> : tensor<{ty}>
                  %w = stablehlo.broadcast_in_dim %b, dims = [0] : ({by}) -> {t}
                  %s = stablehlo.multiply %a, %w : {t}
                  %u = stablehlo.subtract %a, %w : {t}
                  %x = stablehlo.reduce(%s init: %c) applies stablehlo.add across dimensions = [0] : ({t}, tensor<{ty}>) -> {to}
                  %y = stablehlo.reduce(%u init: %one) applies stablehlo.{other} across dimensions = [0] : ({t}, tensor<{ty}>) -> {to}
                  %z = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : ({t}, tensor<{ty}>) -> {to}
                  return %x, %y, %z : {to}, {to}, {to}
                }}"
            );
            let mut r = Rng::with_seed(4);
            let vectors = equals_on(&text, |ty| {
                let mut number = || r.usize(..3) as f64 - 1.0;
                Literal::from_fn(ty, |_| match ty.element {
                    ElementType::C64 => Scalar::Complex(number(), number()),
                    ElementType::I32 => Scalar::Int(number() as i128),
                    _ => Scalar::Float(number()),
                })
            });
            assert!(vectors || columns > 10_000 || ty == "complex<f32>", "no vectors: {text}");
        }
    }
}

/// Floats of every type, including NaNs of both signs, rounded to fewer digits and exponents, and in their total order.
#[test]
fn bits_of_floats_are_rounded_and_compared() {
    let formats = ["e5m10", "e8m7", "e2m0", "e3m2", "e1m1", "e11m23", "e20m60", "e4m3"];
    for &ty in ElementType::ALL.iter().filter(|t| t.is_float()) {
        let t = format!("tensor<3x531x{}>", ty.text().expect("a known type"));
        let (mut body, mut results, mut types) = (String::new(), Vec::new(), Vec::new());
        for (i, format) in formats.iter().enumerate() {
            body += &format!("  %r{i} = stablehlo.reduce_precision %a, format = {format} : {t}\n");
            results.push(format!("%r{i}"));
            types.push(t.clone());
        }
        for (i, direction) in ["EQ", "NE", "LT", "LE", "GT", "GE"].iter().enumerate() {
            body += &format!(
                "  %c{i} = stablehlo.compare {direction}, %a, %b, TOTALORDER : ({t}, {t}) -> tensor<3x531xi1>\n"
            );
            results.push(format!("%c{i}"));
            types.push("tensor<3x531xi1>".to_owned());
        }
        let (results, types) = (results.join(", "), types.join(", "));
        let text =
            format!("func.func @main(%a: {t}, %b: {t}) -> ({types}) {{\n{body}  return {results} : {types}\n}}\n");
        let mut r = Rng::with_seed(5);
        let vectors = equals_on(&text, |ty| {
            Literal::from_fn(ty, |_| {
                let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, 1.0, 1.5, 1.25, -1.75];
                let bytes = r.u64(..).to_le_bytes();
                let bits: Vec<u8> = bytes[..ty.element.bytes()]
                    .iter()
                    .map(|b| b & (u8::MAX >> (8 - ty.element.bits().min(8))))
                    .collect();
                match Scalar::decode(ty.element, &bits) {
                    Scalar::Float(v) if !v.is_nan() && r.usize(..4) > 0 => Scalar::Float(v),
                    _ => Scalar::Float(special[r.usize(..special.len())]).round(ty.element),
                }
            })
        });
        assert!(vectors, "{ty:?}");
    }
}

/// Products of floats of a byte and less: all patterns of one type with all of another, then exact sums, to the same
/// type, to a wider one, and over several blocks.
#[test]
fn products_of_small_floats_are_exact() {
    let small: Vec<ElementType> = ElementType::ALL.iter().copied().filter(|t| t.is_float() && t.bits() <= 8).collect();
    for (n, &ty) in small.iter().enumerate() {
        let (t, other) = (ty.text().expect("a known type"), small[(n + 1) % small.len()].text().expect("a known type"));
        let text = format!(
            "func.func @main(%a: tensor<256x1x{t}>, %b: tensor<256x1x{other}>, %c: tensor<5x600x{t}>, %d: tensor<600x7x{t}>)
              -> (tensor<256x256xf32>, tensor<256x256x{t}>, tensor<5x7x{t}>, tensor<7x5xf64>, tensor<256x0xbf16>, tensor<256x256x{t}>) {{
              %w = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<256x1x{t}>, tensor<256x1x{other}>) -> tensor<256x256xf32>
              %x = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<256x1x{t}>, tensor<256x1x{t}>) -> tensor<256x256x{t}>
              %y = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<5x600x{t}>, tensor<600x7x{t}>) -> tensor<5x7x{t}>
              %z = stablehlo.dot_general %d, %c, contracting_dims = [0] x [1] : (tensor<600x7x{t}>, tensor<5x600x{t}>) -> tensor<7x5xf64>
              %e = stablehlo.slice %a [0:256, 0:0] : (tensor<256x1x{t}>) -> tensor<256x0x{t}>
              %f = stablehlo.slice %b [0:0, 0:1] : (tensor<256x1x{other}>) -> tensor<0x1x{other}>
              %v = stablehlo.dot_general %a, %f, contracting_dims = [1] x [1] : (tensor<256x1x{t}>, tensor<0x1x{other}>) -> tensor<256x0xbf16>
              %n = stablehlo.dot_general %e, %e, contracting_dims = [1] x [1] : (tensor<256x0x{t}>, tensor<256x0x{t}>) -> tensor<256x256x{t}>
              return %w, %x, %y, %z, %v, %n : tensor<256x256xf32>, tensor<256x256x{t}>, tensor<5x7x{t}>, tensor<7x5xf64>, tensor<256x0xbf16>, tensor<256x256x{t}>
            }}"
        );
        let mut r = Rng::with_seed(6);
        equals_on(&text, |ty| match ty.shape[1] {
            1 => {
                let patterns: Vec<u8> = (0..=u8::MAX).map(|b| b & (u8::MAX >> (8 - ty.element.bits()))).collect();
                Literal::from_bytes(ty.element, &ty.shape, patterns)
            }
            _ => Literal::from_fn(ty, |_| {
                let value: f64 = [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0][r.usize(..6)];
                // One of the types has no negative numbers.
                let signed = ty.element != ElementType::F8E8M0FNU;
                Scalar::Float(if signed { value } else { value.abs() })
            }),
        });
    }
}

/// Tensors that are read in another order than results are written: alone, with others that are read in order, over one
/// of these, guarded, several of them, and in an order that no tile supports.
#[test]
fn tensors_in_another_order_are_read_by_tiles() {
    let mut r = Rng::with_seed(7);
    let orders: [&[usize]; 7] = [&[1, 0], &[1, 0], &[0, 2, 1], &[2, 1, 0], &[1, 2, 0], &[0, 3, 1, 2], &[0, 2, 3, 1]];
    let mut tiles = 0;
    for round in 0..84 {
        let order = orders[round % 7];
        let large = if order.len() == 2 { 300 } else { 40 };
        let mut size = || if r.usize(..3) == 0 { r.usize(1..5) } else { r.usize(1..=large) };
        let sizes: Vec<usize> = order.iter().map(|_| size()).collect();
        let ty = of(&mut r, &TYPES);
        let text = |sizes: &[usize], ty: &str| {
            format!("tensor<{}x{ty}>", sizes.iter().map(usize::to_string).collect::<Vec<String>>().join("x"))
        };
        let turned: Vec<usize> = order.iter().map(|&d| sizes[d]).collect();
        let [from, to, bits] = [text(&sizes, ty), text(&turned, ty), text(&turned, "i1")];
        let last = order.len() - 1;
        let (op, limit) = (if ty == "i1" { "xor" } else { "add" }, r.usize(..=turned[last]));
        let body = match r.usize(..4) {
            0 => "%r = stablehlo.reshape %t".to_owned(),
            1 => format!("%r = stablehlo.{op} %t, %c"),
            2 => format!("%s = stablehlo.{op} %t, %u : {to}\n %r = stablehlo.{op} %c, %s"),
            _ => format!(
                "%i = stablehlo.iota dim = {last} : {}
                 %l = stablehlo.constant dense<{limit}> : {}
                 %p = stablehlo.compare LT, %i, %l : ({}, {}) -> {bits}
                 %s = stablehlo.select %p, %u, %c : {bits}, {to}
                 %r = stablehlo.{op} %t, %s",
                text(&turned, "i32"),
                text(&turned, "i32"),
                text(&turned, "i32"),
                text(&turned, "i32"),
            ),
        };
        let ends = if body.starts_with("%r = stablehlo.reshape") { format!("({to}) -> {to}") } else { to.clone() };
        let text = format!(
            "func.func @main(%a: {from}, %b: {from}, %c: {to}) -> {to} {{
             %t = stablehlo.transpose %a, dims = {order:?} : ({from}) -> {to}
             %u = stablehlo.transpose %b, dims = {order:?} : ({from}) -> {to}
             {body} : {ends}
             return %r : {to}
             }}"
        );
        tiles += usize::from(kernels_on(&text, |ty| input(ty, &mut r)).contains("vector.shuffle"));
    }
    assert!(tiles > 20, "only {tiles} programs have tiles");
}

/// Runs a program on random inputs. Returns whether it has kernels with vectors.
fn equals_the_reference(text: &str, r: &mut Rng) -> bool {
    equals_on(text, |ty| input(ty, r))
}

/// Runs a program on the inputs that `make` returns for their types. Returns whether it has kernels with vectors.
fn equals_on(text: &str, make: impl FnMut(&TensorType) -> Literal) -> bool {
    kernels_on(text, make).contains("vector.store")
}

/// Does the same as [`equals_on`], but returns the text of its kernels.
fn kernels_on(text: &str, make: impl FnMut(&TensorType) -> Literal) -> String {
    // The smallest number of this type is subnormal in f32.
    let subnormals = if text.contains("f8E8M0FNU") { Subnormals::Keep } else { Subnormals::default() };
    let found = compared(text, subnormals, make);
    for (got, want) in found.results.iter().zip(&found.expected) {
        for i in 0..want.len() {
            let (g, w) = (got.get(i), want.get(i));
            let equal = match (g, w) {
                (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
                _ => g == w,
            };
            assert!(equal, "element {i}: {g:?}, expected {w:?}\n{text}\n{}", found.kernels);
        }
    }
    found.kernels
}
