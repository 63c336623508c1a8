//! Tests of products of groups of rows, with every role of the ragged dimension.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;

use super::linalg::{check, values};
use super::{Case, text};

/// Returns names of dimensions in random order.
fn shuffled(random: &mut fastrand::Rng, names: &[&'static str]) -> Vec<&'static str> {
    let mut names = names.to_vec();
    random.shuffle(&mut names);
    names
}

/// Returns the positions of dimensions among those of a tensor.
fn places(of: &[&str], list: &[&str]) -> String {
    let place = |d: &&str| of.iter().position(|x| x == d).expect("a dimension").to_string();
    list.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Returns a tensor of random numbers.
fn operand(random: &mut fastrand::Rng, element: ElementType, shape: &[i64]) -> Literal {
    if element == ElementType::I32 {
        let count = shape.iter().product::<i64>();
        return Literal::from_scalars(element, shape, (0..count).map(|_| Scalar::Int(random.i32(..).into())));
    }
    let wide = values(random, element, shape);
    Literal::from_scalars(element, shape, (0..wide.len()).map(|i| wide.get(i).round(element)))
}

#[test]
fn every_role_of_the_ragged_dimension() {
    let types = [
        ("f32", ElementType::F32),
        ("f64", ElementType::F64),
        ("complex<f32>", ElementType::C64),
        ("bf16", ElementType::BF16),
        ("i32", ElementType::I32),
    ];
    let mut random = fastrand::Rng::with_seed(1);
    for round in 0..240 {
        let (ty, element) = types[round % 5];
        let sizes: Vec<(&str, i64)> =
            ["b", "c", "m", "p", "k", "l", "n", "o", "g"].into_iter().map(|d| (d, random.i64(0..5))).collect();
        let size = |name: &str| sizes.iter().find(|s| s.0 == name).map_or(1, |s| s.1);
        let batch = &["b", "c"][..random.usize(..3)];
        let free = &["m", "p"][..1 + random.usize(..2)];
        let contracted = &["k", "l"][..1 + random.usize(..2)];
        let columns = &["n", "o"][..random.usize(..3)];
        let mut kind = round % 3;
        if kind == 2 && batch.is_empty() {
            kind = 0;
        }
        let ragged = match kind {
            0 => free[random.usize(..free.len())],
            1 => contracted[random.usize(..contracted.len())],
            _ => batch[random.usize(..batch.len())],
        };
        let group: &[&str] = if kind == 0 { &["g"] } else { &[] };
        let lhs = shuffled(&mut random, &[batch, free, contracted].concat());
        let rhs = shuffled(&mut random, &[batch, contracted, columns, group].concat());
        let shape = |of: &[&str]| of.iter().map(|d| size(d)).collect::<Vec<i64>>();
        // The other free dimensions follow in the order of each side.
        let rest =
            |of: &[&'static str], list: &[&str]| of.iter().copied().filter(|d| list.contains(d)).collect::<Vec<_>>();
        let (lhs_free, rhs_free) = (rest(&lhs, free), rest(&rhs, columns));
        let before = |list: &[&'static str]| list.iter().copied().take_while(|&d| d != ragged).collect::<Vec<_>>();
        let prefix = match kind {
            0 => [batch, &before(&lhs_free)].concat(),
            1 => [batch, &before(contracted)].concat(),
            _ => before(batch),
        };
        let adds = kind == 1 && prefix.iter().any(|d| contracted.contains(d));
        let per_prefix = random.bool() && !adds;
        let counts: Vec<i64> =
            if per_prefix { shape(&prefix) } else { Vec::new() }.into_iter().chain([size("g")]).collect();
        let result: Vec<i64> = if kind == 1 { vec![size("g")] } else { Vec::new() }
            .into_iter()
            .chain(shape(&[batch, &lhs_free, &rhs_free].concat()))
            .collect();
        let [a, b] = [shape(&lhs), shape(&rhs)];
        let (ta, tb, ts, tr) = (text(&a, ty), text(&b, ty), text(&counts, "i64"), text(&result, ty));
        let case = Case::of(&format!(
            "(%a: {ta}, %b: {tb}, %s: {ts}) %r = \"chlo.ragged_dot\"(%a, %b, %s) <{{ragged_dot_dimension_numbers = \
             #chlo.ragged_dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], \
             lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}], lhs_ragged_dimensions = [{}], \
             rhs_group_dimensions = [{}]>}}> : ({ta}, {tb}, {ts}) -> {tr}",
            places(&lhs, batch),
            places(&rhs, batch),
            places(&lhs, contracted),
            places(&rhs, contracted),
            places(&lhs, &[ragged]),
            places(&rhs, group),
        ));
        // Some sizes are negative, and some exceed the end.
        let count = counts.iter().product::<i64>();
        let groups =
            Literal::from_scalars(ElementType::I64, &counts, (0..count).map(|_| Scalar::Int(random.i64(-1..4).into())));
        let operands = [operand(&mut random, element, &a), operand(&mut random, element, &b), groups];
        if element == ElementType::I32 {
            case.check(&operands);
        } else {
            check(&case, &operands, 20.0);
        }
    }
}
