//! Random programs of ops that need all of a sharded dimension (sorts, the largest elements and their positions,
//! Fourier transforms) give the same results in shards. Elements have few different values, including NaNs, infinities
//! and both zeros, so that most are tied. Results are compared bit for bit, those of transforms within their rounding
//! errors.
//!
//! `STEPS_FROM` and `STEPS_PROGRAMS` choose the seeds, `STEPS_SORTS` the number of long sorts.

use dialect::ir::ElementClass;
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use fastrand::Rng;
use shardc::{Backend, CompileOptions, Compiler, ExecuteOptions, Interface, PrintOptions, Source};
use shardc_tests::sharded::{self, done, messages, number, sharding, ty};

/// The lines of one op on `%a`, and the types of its results `%r#0`, ….
struct Body {
    lines: String,
    results: Vec<(Vec<i64>, String)>,
}

fn top_k(random: &mut Rng, shape: &[i64], element: &str) -> Body {
    let mut kept = shape.to_vec();
    let last = kept.len() - 1;
    kept[last] = random.i64(1..kept[last].min(4) + 1);
    let (from, values, places) = (ty(shape, element), ty(&kept, element), ty(&kept, "i32"));
    let lines = format!("  %r:2 = chlo.top_k(%a, k = {}) : {from} -> ({values}, {places})\n", kept[last]);
    Body { lines, results: vec![(kept.clone(), element.to_owned()), (kept, "i32".to_owned())] }
}

/// Returns a sort of elements and positions, of which two slices read some of the first.
fn sort(random: &mut Rng, shape: &[i64], element: &str) -> Body {
    let d = random.usize(0..shape.len());
    let (of, places, boolean) = (ty(shape, element), ty(shape, "i32"), "tensor<i1>");
    let float = element.contains('f');
    let direction = if random.bool() { "LT" } else { "GT" };
    // With `<` alone, a NaN has no defined position.
    let kind = if !float {
        ""
    } else if random.u8(0..5) == 0 {
        ", FLOAT"
    } else {
        ", TOTALORDER"
    };
    let mut lines = format!(
        "  %i = stablehlo.iota dim = {d} : {places}\n  %s:2 = \"stablehlo.sort\"(%a, %i) <{{dimension = {d} : i64, \
         is_stable = true}}> ({{\n  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %j: tensor<i32>, %k: \
         tensor<i32>):\n    %p = stablehlo.compare {direction}, %x, %y{kind} : (tensor<{element}>, tensor<{element}>) \
         -> {boolean}\n    stablehlo.return %p : {boolean}\n  }}) : ({of}, {places}) -> ({of}, {places})\n"
    );
    let mut results = Vec::new();
    for (i, element) in [element, "i32"].into_iter().enumerate() {
        let mut kept = shape.to_vec();
        let limit = random.i64(1..shape[d].min(4) + 1);
        let start = random.i64(0..limit);
        kept[d] = limit - start;
        let range = |(e, n): (usize, &i64)| if e == d { format!("{start}:{limit}") } else { format!("0:{n}") };
        let ranges: Vec<String> = shape.iter().enumerate().map(range).collect();
        let (from, to) = (ty(shape, element), ty(&kept, element));
        lines += &format!("  %r{i} = stablehlo.slice %s#{i} [{}] : ({from}) -> {to}\n", ranges.join(", "));
        results.push((kept, element.to_owned()));
    }
    Body { lines, results }
}

/// Returns a comparator of `%x` and `%y` of type `element`, and of `%j` and `%k`: by the first pair alone, as in JAX,
/// or by both.
fn comparator(random: &mut Rng, element: &str) -> String {
    let boolean = "tensor<i1>";
    let (kind, zero) = if element.contains('f') { (", TOTALORDER", "0.0") } else { ("", "0") };
    let compare = |name: &str, by: &str, x: &str, y: &str, kind: &str, of: &str| {
        format!("    %{name} = stablehlo.compare {by}, %{x}, %{y}{kind} : (tensor<{of}>, tensor<{of}>) -> {boolean}\n")
    };
    let by = if random.bool() { "LT" } else { "GT" };
    match random.u8(0..3) {
        0 => compare("p", by, "x", "y", kind, element),
        1 => {
            let mut text = format!("    %zero = stablehlo.constant dense<{zero}> : tensor<{element}>\n");
            for of in ["x", "y"] {
                text += &compare(&format!("{of}e"), "EQ", of, "zero", "", element);
                text += &format!("    %{of}c = stablehlo.select %{of}e, %zero, %{of} : {boolean}, tensor<{element}>\n");
            }
            text + &compare("p", by, "xc", "yc", kind, element)
        }
        _ => {
            let first = compare("f", by, "x", "y", kind, element) + &compare("g", by, "y", "x", kind, element);
            let second = compare("s", "GT", "j", "k", "", "i32");
            format!(
                "{first}{second}    %n = stablehlo.not %g : {boolean}\n    %t = stablehlo.and %n, %s : {boolean}\n    %p = \
                 stablehlo.or %f, %t : {boolean}\n"
            )
        }
    }
}

/// Returns a sort of all of a long dimension.
fn whole_sort(random: &mut Rng, shape: &mut Vec<i64>, element: &str) -> (Body, Vec<&'static str>) {
    shape.truncate(2);
    let d = random.usize(0..shape.len());
    shape.iter_mut().for_each(|n| *n = random.i64(1..4));
    shape[d] = if random.bool() { 64 * random.i64(16..20) } else { random.i64(1024..1200) };
    let (of, places, boolean) = (ty(shape, element), ty(shape, "i32"), "tensor<i1>");
    // Positions count along the sorted dimension, or along another one, so that they don't distinguish equal elements.
    let along = if random.bool() { d } else { shape.len() - 1 - d };
    if random.u8(0..3) == 0 {
        let kind = if element.contains('f') { ", TOTALORDER" } else { "" };
        let lines = format!(
            "  %r = \"stablehlo.sort\"(%a) <{{dimension = {d} : i64, is_stable = true}}> ({{\n  ^bb0(%x: tensor<{element}>, \
             %y: tensor<{element}>):\n    %p = stablehlo.compare GT, %x, %y{kind} : (tensor<{element}>, \
             tensor<{element}>) -> {boolean}\n    stablehlo.return %p : {boolean}\n  }}) : ({of}) -> {of}\n"
        );
        return (Body { lines, results: vec![(shape.clone(), element.to_owned())] }, vec!["%r"]);
    }
    let lines = format!(
        "  %i = stablehlo.iota dim = {along} : {places}\n  %r:2 = \"stablehlo.sort\"(%a, %i) <{{dimension = {d} : i64, \
         is_stable = true}}> ({{\n  ^bb0(%x: tensor<{element}>, %y: tensor<{element}>, %j: tensor<i32>, %k: \
         tensor<i32>):\n{}    stablehlo.return %p : {boolean}\n  }}) : ({of}, {places}) -> ({of}, {places})\n",
        comparator(random, element)
    );
    let results = vec![(shape.clone(), element.to_owned()), (shape.clone(), "i32".to_owned())];
    (Body { lines, results }, vec!["%r#0", "%r#1"])
}

/// Returns the smallest or largest element and its position, as JAX computes it: along a dimension, or over all of a
/// flattened `%a`.
fn place(random: &mut Rng, shape: &[i64], element: &str) -> Body {
    let all = random.bool();
    let flat = if all { vec![shape.iter().product()] } else { shape.to_vec() };
    let d = random.usize(0..flat.len());
    let kept: Vec<i64> = flat.iter().enumerate().filter(|e| e.0 != d).map(|e| *e.1).collect();
    let (least, float) = (random.bool(), element.contains('f'));
    let init = match (float, element, least) {
        (true, _, true) => "0x7F800000",
        (true, _, false) => "0xFF800000",
        (_, "i32", true) => "2147483647",
        (_, "i32", false) => "-2147483648",
        (_, _, true) => "255",
        (_, _, false) => "0",
    };
    let direction = if least { "LT" } else { "GT" };
    let (of, places, value, result) = (ty(&flat, element), ty(&flat, "i32"), ty(&kept, element), ty(&kept, "i32"));
    let lines = format!(
        "  %f = stablehlo.reshape %a : ({}) -> {of}
  %i = stablehlo.iota dim = {d} : {places}
  %init = stablehlo.constant dense<{init}> : tensor<{element}>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%f init: %init), (%i init: %zero) across dimensions = [{d}] : ({of}, {places}, tensor<{element}>, tensor<i32>) -> ({value}, {result})
    reducer(%x: tensor<{element}>, %y: tensor<{element}>) (%j: tensor<i32>, %k: tensor<i32>) {{
    %1 = stablehlo.compare {direction}, %x, %y : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    %2 = stablehlo.compare NE, %x, %x : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    %3 = stablehlo.or %1, %2 : tensor<i1>
    %4 = stablehlo.compare EQ, %x, %y : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
    %5 = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %4, %5 : tensor<i1>
    %7 = stablehlo.or %3, %6 : tensor<i1>
    %8 = stablehlo.select %3, %x, %y : tensor<i1>, tensor<{element}>
    %9 = stablehlo.select %7, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %8, %9 : tensor<{element}>, tensor<i32>
  }}
",
        ty(shape, element)
    );
    Body { lines, results: vec![(kept.clone(), element.to_owned()), (kept, "i32".to_owned())] }
}

/// Returns a transform over several dimensions, often followed by another one. `shape` is the shape of `%a`.
fn transform(random: &mut Rng, shape: &[i64]) -> (Body, &'static str) {
    let last = shape.len() - 1;
    let n = random.usize(2..shape.len().min(3) + 1);
    let lengths = shape[last + 1 - n..].to_vec();
    let mut half = shape.to_vec();
    half[last] = half[last] / 2 + 1;
    let real = random.bool();
    let (kind, from, to) = match real {
        true => ("RFFT", ty(shape, "f32"), ty(&half, "complex<f32>")),
        false => (["FFT", "IFFT"][random.usize(0..2)], ty(shape, "complex<f32>"), ty(shape, "complex<f32>")),
    };
    let mut lines = format!("  %t = stablehlo.fft %a, type = {kind}, length = {lengths:?} : ({from}) -> {to}\n");
    let (name, body) = match (random.bool(), real) {
        (false, true) => ("%t", (half, "complex<f32>")),
        (false, false) => ("%t", (shape.to_vec(), "complex<f32>")),
        (true, true) => {
            lines += &format!("  %u = stablehlo.fft %t, type = IRFFT, length = {lengths:?} : ({to}) -> {from}\n");
            ("%u", (shape.to_vec(), "f32"))
        }
        (true, false) => {
            lines += &format!("  %u = stablehlo.fft %t, type = IFFT, length = {lengths:?} : ({to}) -> {from}\n");
            ("%u", (shape.to_vec(), "complex<f32>"))
        }
    };
    (Body { lines, results: vec![(body.0, body.1.to_owned())] }, name)
}

/// Returns a program, and whether its results are exact. With `sorts`, it is a sort of all of a long dimension.
fn program(seed: u64, sorts: bool) -> (String, bool) {
    let mut random = Rng::with_seed(seed);
    let meshes: [&[(&str, i64)]; 5] =
        [&[("x", 2)], &[("x", 4)], &[("x", 3)], &[("x", 2), ("y", 3)], &[("x", 2), ("y", 2)]];
    let which = if sorts { 4 } else { random.usize(0..4) };
    // With few devices, gathering the sorted values costs no more than distributing them.
    let large: [&[(&str, i64)]; 3] = [&[("x", 8)], &[("x", 2), ("y", 4)], &[("x", 7)]];
    let mesh = if sorts { large[random.usize(0..large.len())] } else { meshes[random.usize(0..meshes.len())] };
    let axes: Vec<&str> = mesh.iter().map(|a| a.0).collect();
    let rank = random.usize(1..4);
    let size = |random: &mut Rng| if random.u8(0..4) == 0 { random.i64(1..14) } else { 6 * random.i64(1..4) };
    let mut shape: Vec<i64> = (0..rank).map(|_| size(&mut random)).collect();
    let mut element = ["f32", "f32", "i32", "ui8"][random.usize(0..4)].to_owned();
    let (body, names) = match which {
        0 => (top_k(&mut random, &shape, &element), vec!["%r#0", "%r#1"]),
        1 => (sort(&mut random, &shape, &element), vec!["%r0", "%r1"]),
        2 => (place(&mut random, &shape, &element), vec!["%r#0", "%r#1"]),
        4 => whole_sort(&mut random, &mut shape, &element),
        _ => {
            shape.resize(rank.max(2), 12);
            let (body, name) = transform(&mut random, &shape);
            element = if body.lines.contains("RFFT") { "f32".to_owned() } else { "complex<f32>".to_owned() };
            (body, vec![name])
        }
    };
    let argument = match shape.iter().position(|&n| sorts && n > 100) {
        Some(d) if random.u8(0..4) > 0 => {
            let all: Vec<String> = axes.iter().map(|axis| format!("\"{axis}\"")).collect();
            let dims: Vec<String> = (0..shape.len())
                .map(|e| format!("{{{}}}", if e == d { all.join(", ") } else { String::new() }))
                .collect();
            format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", "))
        }
        _ => sharding(&mut random, &axes, shape.len()),
    };
    let types: Vec<String> = body.results.iter().map(|(s, e)| ty(s, e)).collect();
    let stated: Vec<String> = body
        .results
        .iter()
        .zip(&types)
        .map(|((s, _), t)| match sorts && random.u8(0..4) > 0 {
            true => format!("{t} {argument}"),
            false => format!("{t} {}", sharding(&mut random, &axes, s.len())),
        })
        .collect();
    let sizes: Vec<String> = mesh.iter().map(|(name, n)| format!("\"{name}\"={n}")).collect();
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[{}]>\n  func.func @main(%a: {} {argument}) -> ({}) {{\n{}  return {} : {}\n  }}\n}}\n",
        sizes.join(", "),
        ty(&shape, &element),
        stated.join(", "),
        body.lines,
        names.join(", "),
        types.join(", ")
    );
    (text, which != 3)
}

/// Returns a tensor with few different values, so that most are tied. The values are finite if results aren't exact.
fn input(random: &mut Rng, ty: &dialect::ir::TensorType, exact: bool) -> Literal {
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, 1.0, 2.0, -1.5, -1.5];
    // Some tensors contain no NaN, others no infinities.
    let from = if exact { [0, 1, 3][random.usize(0..3)] } else { 3 };
    Literal::from_fn(ty, |_| match ty.element.class() {
        ElementClass::Float => Scalar::Float(floats[random.usize(from..floats.len())]),
        ElementClass::Complex => Scalar::Complex(random.i8(-8..8).into(), random.i8(-8..8).into()),
        _ => Scalar::Int(random.i128(0..4)),
    })
}

fn numbers(literal: &Literal) -> Vec<f64> {
    let parts = |i: usize| match literal.get(i) {
        Scalar::Complex(re, im) => [re, im],
        real => [real.as_f64(), 0.0],
    };
    (0..literal.len()).flat_map(parts).collect()
}

/// Returns whether all elements are as close as the sums in a transform allow.
fn close(a: &Literal, b: &Literal) -> bool {
    let (a, b) = (numbers(a), numbers(b));
    let most = a.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 2e-6 * most)
}

/// Checks that the per-device program computes the program's results. Returns whether it takes more steps, and whether
/// it uses a sort that distributes elements.
fn same(compiler: &Compiler, text: &str, exact: bool, seed: u64) -> Result<(bool, bool), String> {
    let module = done(compiler.parse(Source::new("program.mlir", text)))?;
    let options = CompileOptions { target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let mut random = Rng::with_seed(seed);
    let types = Interface::of(&module).ok_or("no interface")?.arguments;
    let inputs = vec![types.iter().map(|t| input(&mut random, t, exact)).collect::<Vec<_>>()];
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(messages(got.diagnostics)) };
    let mut pairs = want.iter().flatten().zip(got.results.iter().flatten());
    if !pairs.all(|(a, b)| if exact { a == b } else { close(a, b) }) {
        return Err(format!("the results differ: {want:?} and {:?}", got.results));
    }
    let count = |text: &str| {
        ["sort\"", "stablehlo.reduce(", "top_k", "fft "].iter().map(|n| text.matches(n).count()).sum::<usize>()
    };
    let device = compiler.print(&device, PrintOptions::default());
    Ok((count(&device) > count(text), device.matches("stablehlo.sort\"").count() == 5))
}

/// Runs `count` programs. Returns the number that take more steps, and the number that distribute elements.
fn run(from: u64, count: u64, sorts: bool) -> (u64, u64) {
    let compiler = sharded::compiler();
    let (mut faults, mut steps, mut dealt) = (Vec::new(), 0, 0);
    for seed in from..from + count {
        let (text, exact) = program(seed, sorts);
        match same(&compiler, &text, exact, seed) {
            Ok((several, deals)) => (steps, dealt) = (steps + u64::from(several), dealt + u64::from(deals)),
            Err(fault) => faults.push(format!("seed {seed}: {fault}\n{text}")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    println!("{steps} of {count} programs run in steps, {dealt} of them deal elements out");
    (steps, dealt)
}

#[test]
fn what_needs_all_of_a_dimension_means_the_same_in_shards() {
    let count = number("STEPS_PROGRAMS", 120);
    let (steps, _) = run(number("STEPS_FROM", 0), count, false);
    assert!(steps * 5 >= count, "only {steps} of {count} programs run in steps");
}

#[test]
fn elements_that_are_dealt_out_are_sorted_as_they_would_be_at_once() {
    let count = number("STEPS_SORTS", 16);
    let (_, dealt) = run(number("STEPS_FROM", 0), count, true);
    assert!(dealt * 6 >= count, "only {dealt} of {count} programs deal elements out");
}
