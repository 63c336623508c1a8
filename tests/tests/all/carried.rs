//! Random loops that add up values computed in shards give the same results on all devices together, whether the loop
//! carries partial sums or not. Values are integers, so they are compared bit for bit.
//!
//! `CARRIED_FROM` and `CARRIED_PROGRAMS` choose the seeds.

use std::fmt::Write;

use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source, random_inputs};
use shardc_tests::sharded::{self, done, messages, number, sharding};

/// Returns a loop over batches `x`: sums of products with `w`, and sums of rows.
fn program(seed: u64) -> String {
    let mut random = Rng::with_seed(seed);
    let meshes: [&[(&str, i64)]; 4] =
        [&[("x", 4)], &[("x", 2), ("y", 2)], &[("x", 3), ("y", 2)], &[("x", 2), ("y", 4)]];
    let mesh = meshes[random.usize(0..meshes.len())];
    let axes: Vec<&str> = mesh.iter().map(|a| a.0).collect();
    let [steps, rows, wide, out] = [random.i64(1..4), random.i64(8..25), random.i64(2..6), random.i64(2..6)];
    let (batches, batch) = (format!("tensor<{steps}x{rows}x{wide}xi32>"), format!("tensor<{rows}x{wide}xi32>"));
    let (weights, product, line) =
        (format!("tensor<{wide}x{out}xi32>"), format!("tensor<{rows}x{out}xi32>"), format!("tensor<{out}xi32>"));
    let mut body = format!(
        "    %1 = stablehlo.dynamic_slice %xs, %i, %none, %none, sizes = [1, {rows}, {wide}] : ({batches}, tensor<i32>, \
         tensor<i32>, tensor<i32>) -> tensor<1x{rows}x{wide}xi32>\n    %x = stablehlo.reshape %1 : \
         (tensor<1x{rows}x{wide}xi32>) -> {batch}\n    %y = stablehlo.dot_general %x, %ws, contracting_dims = [1] x [0] : \
         ({batch}, {weights}) -> {product}\n    %g0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : \
         ({batch}, {product}) -> {weights}\n    %h = stablehlo.reduce(%y init: %none) applies stablehlo.add across \
         dimensions = [0] : ({product}, tensor<i32>) -> {line}\n"
    );
    // The added values also pass through linear ops, and through one that isn't linear.
    let linear = ["stablehlo.negate %g0", "stablehlo.add %g0, %g0", "stablehlo.abs %g0"][random.usize(0..3)];
    writeln!(body, "    %g1 = {linear} : {weights}").unwrap();
    let mut sum = "%sum".to_owned();
    for i in 0..random.usize(1..4) {
        let part = ["%g0", "%g1"][random.usize(0..2)];
        let (op, a, b) = match random.usize(0..4) {
            0 => ("add", part, &*sum),
            1 => ("add", &*sum, part),
            2 => ("subtract", &*sum, part),
            _ => ("subtract", part, &*sum),
        };
        writeln!(body, "    %s{i} = stablehlo.{op} {a}, {b} : {weights}").unwrap();
        sum = format!("%s{i}");
    }
    // Sometimes the sum is read in the loop, so that it must be complete.
    let read = random.u8(0..4) == 0;
    let seen = if read { "%sum" } else { "%ws" };
    writeln!(body, "    %w1 = stablehlo.maximum %ws, {seen} : {weights}").unwrap();
    writeln!(body, "    %line1 = stablehlo.add %line, %h : {line}").unwrap();
    let sizes: Vec<String> = mesh.iter().map(|(name, n)| format!("\"{name}\"={n}")).collect();
    let types = format!("tensor<i32>, {batches}, {weights}, {weights}, {line}");
    format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func @main(%a: {batches} {}, %w: {weights} {}, %begin: {weights} {}) \
         -> ({weights} {}, {line} {}) {{\n  %none = stablehlo.constant dense<0> : tensor<i32>\n  %zeros = \
         stablehlo.constant dense<0> : {line}\n  %0:5 = stablehlo.while(%i = %none, %xs = %a, %ws = %w, %sum = %begin, \
         %line = %zeros) : {types}\n  cond {{\n    %n = stablehlo.constant dense<{steps}> : tensor<i32>\n    %1 = \
         stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    stablehlo.return %1 : tensor<i1>\n  \
         }} do {{\n{body}    %one = stablehlo.constant dense<1> : tensor<i32>\n    %next = stablehlo.add %i, %one : \
         tensor<i32>\n    stablehlo.return %next, %xs, %w1, {sum}, %line1 : {types}\n  }}\n  return %0#3, %0#4 : {weights}, \
         {line}\n  }}\n}}\n",
        sizes.join(", "),
        // Usually sharded as batches are.
        match random.u8(0..4) {
            0 => sharding(&mut random, &axes, 3),
            _ => "{sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}, {}]>}".to_owned(),
        },
        sharding(&mut random, &axes, 2),
        sharding(&mut random, &axes, 2),
        sharding(&mut random, &axes, 2),
        sharding(&mut random, &axes, 1),
    )
}

/// Checks that the devices compute the program's results; returns whether its loop carries partial sums.
fn same(compiler: &Compiler, text: &str) -> Result<bool, String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { target: Some("slow".to_owned()), ..CompileOptions::default() };
    let planned =
        compiler.print(&done(compiler.compile(module.clone(), "planned", &options))?, PrintOptions::default());
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, 1, 1);
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(messages(got.diagnostics)) };
    if want != got.results {
        return Err("the results differ".to_owned());
    }
    Ok(planned.lines().any(|l| l.contains("stablehlo.while") && l.contains("unreduced=")))
}

#[test]
fn loops_that_add_up_mean_the_same_in_shards() {
    let compiler = sharded::compiler();
    let (from, count) = (number("CARRIED_FROM", 0), number("CARRIED_PROGRAMS", 40));
    let (mut faults, mut partial) = (Vec::new(), 0);
    for seed in from..from + count {
        let text = program(seed);
        match same(&compiler, &text) {
            Ok(carried) => partial += u64::from(carried),
            Err(fault) => faults.push(format!("seed {seed}: {fault}\n{text}")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("partial sums are carried by {partial} of {count} programs");
    assert!(partial * 4 >= count, "partial sums are carried by only {partial} of {count} programs");
}
