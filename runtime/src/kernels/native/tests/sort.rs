//! Tests of sorts.

use dialect::ir::{ElementType, TensorType};
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::{Case, element, tensor, text};

/// Returns the lines of a comparison `p{name}` of elements `x` and `y`.
fn less(name: usize, x: &str, y: &str, ty: &str, how: usize) -> String {
    let t = format!("tensor<{ty}>");
    let compare = |by: &str, a: &str, b: &str, kind: &str| {
        format!("stablehlo.compare {by}, {a}, {b}{kind} : ({t}, {t}) -> tensor<i1>")
    };
    let total = if ty.contains('f') { ", TOTALORDER" } else { "" };
    let canonical = |v: &str, n: &str| {
        format!(
            "{n}z = stablehlo.constant dense<0.0> : {t}\n{n}e = {}\n{n}s = stablehlo.select {n}e, {n}z, {v} : tensor<i1>, {t}\n{n}n = {}\n{n}q = stablehlo.constant dense<{}> : {t}\n{n}c = stablehlo.select {n}n, {n}q, {n}s : tensor<i1>, {t}\n",
            compare("EQ", v, &format!("{n}z"), ""),
            compare("NE", v, v, ""),
            match ty {
                "f64" => "0x7FF8000000000000",
                "f32" => "0x7FC00000",
                "bf16" => "0x7FC0",
                _ => "0x7E00",
            },
        )
    };
    match how {
        0 => format!("%p{name} = {}\n%e{name} = {}\n", compare("LT", x, y, ""), compare("EQ", x, y, "")),
        1 => format!("%p{name} = {}\n%e{name} = {}\n", compare("GT", x, y, total), compare("EQ", x, y, total)),
        2 => format!("%p{name} = {}\n%e{name} = {}\n", compare("LT", y, x, total), compare("EQ", y, x, total)),
        3 if matches!(ty, "f64" | "f32" | "bf16" | "f16") => {
            let (l, r) = (format!("%l{name}"), format!("%r{name}"));
            format!(
                "{}{}%p{name} = {}\n%e{name} = {}\n",
                canonical(x, &l),
                canonical(y, &r),
                compare("LT", &format!("{l}c"), &format!("{r}c"), total),
                compare("EQ", &format!("{l}c"), &format!("{r}c"), total)
            )
        }
        // By a computation of each element.
        4 => format!(
            "%l{name} = stablehlo.multiply {x}, {x} : {t}\n%r{name} = stablehlo.multiply {y}, {y} : {t}\n%p{name} = {}\n%e{name} = {}\n",
            compare("LT", &format!("%l{name}"), &format!("%r{name}"), ""),
            compare("EQ", &format!("%l{name}"), &format!("%r{name}"), "")
        ),
        // Without keys: both elements are in one computation.
        5 => format!(
            "%d{name} = stablehlo.subtract {x}, {y} : {t}\n%p{name} = {}\n%e{name} = {}\n",
            compare("LT", &format!("%d{name}"), y, ""),
            compare("EQ", x, y, "")
        ),
        _ => format!("%p{name} = {}\n%e{name} = {}\n", compare("LT", x, y, total), compare("EQ", x, y, total)),
    }
}

const TYPES: &[&str] =
    &["f32", "i32", "bf16", "f64", "i64", "ui8", "f16", "i16", "ui64", "i8", "ui32", "i1", "f8E4M3FN", "ui16"];

#[test]
fn sorts_by_any_comparator() {
    let mut random = fastrand::Rng::with_seed(21);
    for round in 0..160 {
        let rank = random.usize(1..4);
        let mut shape: Vec<i64> = (0..rank).map(|_| random.i64(0..6)).collect();
        let dim = random.usize(..rank);
        shape[dim] = match round % 40 {
            0 => 700,
            1 => 0,
            2 => 1,
            _ => random.i64(2..60),
        };
        let types: Vec<&str> = (0..random.usize(1..4)).map(|i| TYPES[(round + 5 * i) % TYPES.len()]).collect();
        let arithmetic = |ty: &str| if ty == "i1" { 3 } else { 7 };
        let hows: Vec<usize> = types.iter().map(|ty| random.usize(..arithmetic(ty))).collect();
        let count = random.usize(1..=types.len());
        let mut body = String::new();
        for i in 0..count {
            body += &less(i, &format!("%x{i}"), &format!("%y{i}"), types[i], hows[i]);
        }
        let mut result = format!("%p{}", count - 1);
        for i in (0..count - 1).rev() {
            body += &match round % 3 {
                0 => format!("%o{i} = stablehlo.select %e{i}, {result}, %p{i} : tensor<i1>, tensor<i1>\n"),
                _ => format!(
                    "%a{i} = stablehlo.and %e{i}, {result} : tensor<i1>\n%o{i} = stablehlo.or %p{i}, %a{i} : tensor<i1>\n"
                ),
            };
            result = format!("%o{i}");
        }
        let tensors: Vec<String> = types.iter().map(|ty| text(&shape, ty)).collect();
        let list = tensors.join(", ");
        let name = |i: usize| format!("%v{i}");
        let names: Vec<String> = (0..types.len()).map(name).collect();
        let arguments: Vec<String> = names.iter().zip(&tensors).map(|(n, t)| format!("{n}: {t}")).collect();
        let pairs: Vec<String> =
            types.iter().enumerate().map(|(i, ty)| format!("%x{i}: tensor<{ty}>, %y{i}: tensor<{ty}>")).collect();
        let case = Case::of(&format!(
            "({}) %r:{} = \"stablehlo.sort\"({}) <{{dimension = {dim} : i64, is_stable = true}}> ({{\n^bb0({}):\n{body}stablehlo.return {result} : tensor<i1>\n}}) : ({list}) -> ({list})",
            arguments.join(", "),
            types.len(),
            names.join(", "),
            pairs.join(", "),
        ));
        let plain = round % 2 == 0;
        let operands: Vec<Literal> = case
            .types()
            .iter()
            .map(|&ty| match plain {
                true => tensor(&mut random, ty, &shape),
                // No NaN, so that all comparators are orders.
                false => Literal::from_fn(&TensorType::new(&shape, ty), |_| match element(&mut random, ty) {
                    Scalar::Float(v) if v.is_nan() => Scalar::Float(-0.0),
                    value => value,
                }),
            })
            .collect();
        case.check(&operands);
    }
}

#[test]
fn long_sorts_on_several_threads() {
    let mut random = fastrand::Rng::with_seed(22);
    for (ty, operands) in [("f32", 1), ("i32", 2)] {
        let n = 66_001;
        let t = text(&[n], ty);
        let (arguments, names, region, types, count) = match operands {
            1 => (format!("%a: {t}"), "%a", "", t.clone(), ""),
            _ => (
                format!("%a: {t}, %b: tensor<{n}xi32>"),
                "%a, %b",
                ", %v: tensor<i32>, %w: tensor<i32>",
                format!("{t}, tensor<{n}xi32>"),
                ":2",
            ),
        };
        let case = Case::of(&format!(
            "({arguments}) %r{count} = \"stablehlo.sort\"({names}) <{{dimension = 0 : i64}}> ({{\n^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>{region}):\n{}stablehlo.return %p0 : tensor<i1>\n}}) : ({types}) -> ({types})",
            less(0, "%x", "%y", ty, if ty.starts_with('f') { 3 } else { 1 })
        ));
        let values: Vec<Literal> = case.types().iter().map(|&ty| tensor(&mut random, ty, &[n])).collect();
        case.check(&values);
    }
}

#[test]
fn long_sorts_by_comparators_without_keys() {
    let mut random = fastrand::Rng::with_seed(24);
    let n = 9_001;
    // By both elements of two operands in one computation; the third operand is only moved. Elements are contiguous in
    // one case and not in the other.
    for (dim, shape, by) in [(1, [3, n], "LT"), (0, [n, 3], "GE")] {
        let (t, numbers) = (text(&shape, "f32"), text(&shape, "i32"));
        let list = format!("{t}, {numbers}, {t}");
        let case = Case::of(&format!(
            "(%a: {t}, %b: {numbers}, %c: {t}) %r:3 = \"stablehlo.sort\"(%a, %b, %c) <{{dimension = {dim} : i64}}> ({{\n^bb0(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>, %v: tensor<f32>, %w: tensor<f32>):\n
            %p = stablehlo.subtract %x, %y : tensor<f32>
            %q = stablehlo.subtract %v, %w : tensor<f32>
            %s = stablehlo.compare {by}, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %s : tensor<i1>\n}}) : ({list}) -> ({list})"
        ));
        let values: Vec<Literal> = case.types().iter().map(|&ty| tensor(&mut random, ty, &shape)).collect();
        case.check(&values);
    }
}

#[test]
fn the_first_of_each_slice() {
    let mut random = fastrand::Rng::with_seed(23);
    for ty in ["f32", "i32", "bf16"] {
        let t = text(&[5, 3000], ty);
        let text = format!(
            "(%a: {t}, %b: tensor<5x3000xi32>) %r:2 = \"stablehlo.sort\"(%a, %b) <{{dimension = 1 : i64}}> ({{\n^bb0(%x: tensor<{ty}>, %y: tensor<{ty}>, %v: tensor<i32>, %w: tensor<i32>):\n{}stablehlo.return %p0 : tensor<i1>\n}}) : ({t}, tensor<5x3000xi32>) -> ({t}, tensor<5x3000xi32>)",
            less(0, "%x", "%y", ty, 1)
        );
        let (whole, part) = (Case::of(&text), Case::reading(&text, 37));
        let number = Literal::from_fn(&TensorType::new(&[5, 3000], ElementType::I32), |i| Scalar::Int(i as i128));
        let operands = [tensor(&mut random, whole.types()[0], &[5, 3000]), number];
        let (want, got) = (whole.run(&operands, 1), part.run(&operands, 1));
        for (want, got) in want.iter().zip(&got) {
            for i in (0..5 * 3000).filter(|i| i % 3000 < 37) {
                assert_eq!(got.element_bytes(i), want.element_bytes(i), "{ty} {i}");
            }
            assert_ne!(got, want, "the others are not sorted");
        }
    }
}
