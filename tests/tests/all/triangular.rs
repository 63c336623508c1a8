//! Random triangular systems whose matrices are sharded along rows or columns have the same solutions as unsharded
//! ones. All numbers are small integers and the diagonal contains powers of two, so that results are exact and compared
//! bit for bit; elements of a matrix that must not be read are NaN.
//!
//! `TRIANGULAR_FROM` and `TRIANGULAR_PROGRAMS` choose the seeds.

use dialect::ir::{ElementClass, TensorType};
use dialect::literal::{Indices, Literal};
use dialect::scalar::Scalar;
use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, Module, PrintOptions, Source};
use shardc_tests::sharded::{self, number, ty};

fn sharding(dims: &[&str]) -> String {
    let dims: Vec<String> =
        dims.iter().map(|d| if d.is_empty() { "{}".to_owned() } else { format!("{{\"{d}\"}}") }).collect();
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", "))
}

/// Returns a program, and whether it reads the lower triangle.
fn program(seed: u64) -> (String, bool) {
    let mut random = Rng::with_seed(seed);
    let (shards, blocks) = (random.i64(2..5), random.i64(1..6));
    // Sometimes blocks have different sizes; then the matrix is gathered.
    let size = shards * blocks + i64::from(random.u8(0..8) == 0);
    let columns = random.i64(1..4);
    let (left, lower, unit) = (random.bool(), random.bool(), random.bool());
    let element = ["f64", "f64", "complex<f64>"][random.usize(0..3)];
    let transpose = ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"][random.usize(0..3)];
    let mut batch: Vec<i64> = Vec::new();
    if random.bool() {
        batch.push(2 * random.i64(1..3));
    }
    let rows = if left { [size, columns] } else { [columns, size] };
    let (matrix, right) = ([&batch[..], &[size, size]].concat(), [&batch[..], &rows].concat());
    let lead = if batch.is_empty() { vec![] } else { vec![["", "y"][random.usize(0..2)]] };
    let place = [["x", ""], ["", "x"]][random.usize(0..2)];
    let other = [["x", ""], ["", "x"], ["", ""], ["", ""]];
    let mut stated = || sharding(&[&lead[..], &other[random.usize(0..4)]].concat());
    let (given, result) = (stated(), stated());
    let (a, b) = (ty(&matrix, element), ty(&right, element));
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[\"x\"={shards}, \"y\"=2]>\n  func.func @main(%a: {a} {}, %b: {b} {given}) -> ({b} \
         {result}) {{\n    %r = \"stablehlo.triangular_solve\"(%a, %b) <{{left_side = {left}, lower = {lower}, transpose_a = \
         #stablehlo<transpose {transpose}>, unit_diagonal = {unit}}}> : ({a}, {b}) -> {b}\n    return %r : {b}\n  }}\n}}\n",
        sharding(&[&lead[..], &place].concat())
    );
    (text, lower)
}

fn input(random: &mut Rng, ty: &TensorType, matrix: Option<bool>) -> Literal {
    let last = ty.rank() - 1;
    let value = |at: &[i64], random: &mut Rng| {
        let (i, j) = (at[last - 1], at[last]);
        let value = match matrix {
            Some(lower) if i != j && (i < j) == lower => f64::NAN,
            Some(_) if i == j => [1.0, -1.0, 2.0, -2.0][random.usize(0..4)],
            _ => random.i8(-1..2).into(),
        };
        match ty.element.class() {
            ElementClass::Complex if i == j => Scalar::Complex(value, 0.0),
            ElementClass::Complex => Scalar::Complex(value, random.i8(-1..2).into()),
            _ => Scalar::Float(value),
        }
    };
    let values: Vec<Scalar> = Indices::of(&ty.shape).map(|at| value(&at, random)).collect();
    Literal::from_scalars(ty.element, &ty.shape, values)
}

/// Checks that the per-device program computes the program's results; returns whether the matrix isn't moved.
fn same(compiler: &Compiler, seed: u64) -> Result<bool, String> {
    let (text, lower) = program(seed);
    let fail = |diagnostics: shardc::Diagnostics| {
        let messages = diagnostics.list.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("; ");
        format!("{messages}\n{text}")
    };
    let done = |outcome: shardc::Outcome<Module>| outcome.value.ok_or_else(|| fail(outcome.diagnostics));
    let module = done(compiler.parse(Source::new("program.mlir", &text)))?;
    let options = CompileOptions { target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let mut random = Rng::with_seed(seed);
    let types = Interface::of(&module).ok_or("no interface")?.arguments;
    let inputs = vec![vec![input(&mut random, &types[0], Some(lower)), input(&mut random, &types[1], None)]];
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(fail(got.diagnostics)) };
    let mut pairs = want.iter().flatten().zip(got.results.iter().flatten());
    // Zeros of both signs are equal.
    let equal = |a: Scalar, b: Scalar| match (a, b) {
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => a == c && b == d,
        (a, b) => a.as_f64() == b.as_f64(),
    };
    if !pairs.all(|(a, b)| (0..a.len()).all(|i| equal(a.get(i), b.get(i)))) {
        return Err(format!("the results differ: {want:?} and {:?}\n{text}", got.results));
    }
    let device = compiler.print(&device, PrintOptions::default());
    Ok(device.contains("stablehlo.dot_general"))
}

#[test]
fn systems_are_solved_where_their_matrices_lie() {
    let compiler = sharded::compiler();
    let (from, count) = (number("TRIANGULAR_FROM", 0), number("TRIANGULAR_PROGRAMS", 80));
    let (mut faults, mut blocks) = (Vec::new(), 0);
    for seed in from..from + count {
        match same(&compiler, seed) {
            Ok(by_block) => blocks += u64::from(by_block),
            Err(fault) => faults.push(format!("seed {seed}: {fault}")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("{blocks} of {count} systems are solved block by block");
    assert!(blocks * 5 >= count, "only {blocks} of {count} systems are solved block by block");
}
