//! Random scans (cumulative sums, products, maxima, and pairs of a maximum and its index) along sharded dimensions give
//! the same results in shards, bit for bit: integers wrap, float sums use values that add without rounding, and maxima
//! also cover NaN, infinities and negative numbers.
//!
//! `SCANS_FROM` and `SCANS_PROGRAMS` choose the seeds.

use dialect::ir::ElementType;
use dialect::scalar::Scalar;
use fastrand::Rng;
use passes::plan::Search;
use shardc::{
    Backend, CompileOptions, Compiler, ExecuteOptions, Interface, Literal, PrintOptions, Source, random_inputs,
};
use shardc_tests::sharded::{self, done, messages, number};

/// Element types, operations over them, and initial values. Some initial values aren't neutral, but may be combined
/// several times.
const SINGLE: [(&str, &str, &str); 14] = [
    ("i32", "add", "0"),
    ("i8", "add", "0"),
    ("ui16", "multiply", "1"),
    ("i64", "maximum", "-9223372036854775808"),
    ("i32", "maximum", "5"),
    ("ui8", "minimum", "255"),
    ("i1", "or", "false"),
    ("i32", "and", "-1"),
    ("i32", "xor", "0"),
    ("f32", "add", "0.0"),
    ("f32", "maximum", "0xFF800000"),
    ("f32", "minimum", "0x7F800000"),
    ("bf16", "maximum", "0xFF80"),
    // Every window combines this value once per element beyond the edge.
    ("i32", "add", "3"),
];

/// A program, the element type of its first argument, and whether its scan can be done in parts.
struct Case {
    text: String,
    element: &'static str,
    splits: bool,
    /// The number of scanned elements.
    elements: i64,
}

/// Returns the maximum number of elements that a device receives in a collective other than a permute.
fn most_gathered(text: &str) -> i64 {
    let moving =
        |line: &&str| line.contains("all_gather") || line.contains("all_to_all") || line.contains("all_reduce");
    let elements = |line: &str| -> i64 {
        let ty = line.rsplit("tensor<").next().unwrap_or_default();
        ty.split('x').filter_map(|n| n.parse::<i64>().ok()).product()
    };
    text.lines().filter(moving).map(elements).max().unwrap_or(0)
}

fn case(seed: u64) -> Case {
    let random = &mut Rng::with_seed(seed);
    let meshes: [(&str, &[&str], i64); 6] = [
        ("\"x\"=2", &["x"], 2),
        ("\"x\"=3", &["x"], 3),
        ("\"x\"=4", &["x"], 4),
        ("\"x\"=8", &["x"], 8),
        ("\"x\"=2, \"y\"=3", &["x", "y"], 6),
        ("\"x\"=2, \"y\"=2, \"z\"=3", &["x", "y", "z"], 12),
    ];
    let (mesh, axes, devices) = meshes[random.usize(0..meshes.len())];
    let rank = random.usize(1..4);
    let dim = random.usize(0..rank);
    let mut shape: Vec<i64> = (0..rank).map(|_| random.i64(1..5)).collect();
    shape[dim] = random.i64(2..40);
    // The first axis shards the scanned dimension, the others anything.
    let sharding = |random: &mut Rng| {
        let mut dims = vec![Vec::new(); rank];
        for (i, axis) in axes.iter().enumerate() {
            let d = if i == 0 { dim } else { random.usize(0..rank) };
            dims[d].push(format!("\"{axis}\""));
        }
        let dims: Vec<String> = dims.iter().map(|d| format!("{{{}}}", d.join(", "))).collect();
        format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", dims.join(", "))
    };
    let (size, ones) = (shape[dim], vec!["1".to_owned(); rank]);
    let mut window = ones.clone();
    window[dim] = size.to_string();
    let reach = if random.bool() { (size - 1, 0) } else { (0, size - 1) };
    let padding: Vec<String> =
        (0..rank).map(|d| if d == dim { format!("[{}, {}]", reach.0, reach.1) } else { "[0, 0]".to_owned() }).collect();
    let attributes = format!(
        "padding = dense<[{}]> : tensor<{rank}x2xi64>, window_dimensions = array<i64: {}>",
        padding.join(", "),
        window.join(", ")
    );
    let ty = |element: &str| format!("tensor<{}{element}>", shape.iter().map(|n| format!("{n}x")).collect::<String>());
    let (element, body, results, splits) = if random.u8(0..5) == 0 {
        let (a, i) = (ty("f32"), ty("i32"));
        let body = format!(
            "    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %last = stablehlo.constant dense<2147483647> : tensor<i32>
    %at = stablehlo.iota dim = {dim} : {i}
    %r:2 = \"stablehlo.reduce_window\"(%a, %at, %low, %last) <{{{attributes}}}> ({{
    ^bb0(%x: tensor<f32>, %j: tensor<i32>, %y: tensor<f32>, %k: tensor<i32>):
      %more = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %same = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %less = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %both = stablehlo.and %same, %less : tensor<i1>
      %first = stablehlo.or %more, %both : tensor<i1>
      %v = stablehlo.select %first, %x, %y : tensor<i1>, tensor<f32>
      %w = stablehlo.select %first, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %v, %w : tensor<f32>, tensor<i32>
    }}) : ({a}, {i}, tensor<f32>, tensor<i32>) -> ({a}, {i})
    return %r#0, %r#1 : {a}, {i}"
        );
        ("pair", body, vec![a, i], true)
    } else {
        let (element, op, init) = SINGLE[random.usize(0..SINGLE.len())];
        let (a, s) = (ty(element), format!("tensor<{element}>"));
        let body = format!(
            "    %init = stablehlo.constant dense<{init}> : {s}
    %r = \"stablehlo.reduce_window\"(%a, %init) <{{{attributes}}}> ({{
    ^bb0(%x: {s}, %y: {s}):
      %v = stablehlo.{op} %x, %y : {s}
      stablehlo.return %v : {s}
    }}) : ({a}, {s}) -> {a}
    return %r : {a}"
        );
        (element, body, vec![a], init != "3")
    };
    let stated: Vec<String> = results.iter().map(|r| format!("{r} {}", sharding(random))).collect();
    let text = format!(
        "module {{\n  sdy.mesh @mesh = <[{mesh}]>\n  func.func @main(%a: {} {}) -> ({}) {{\n{body}\n  }}\n}}\n",
        results[0],
        sharding(random),
        stated.join(", ")
    );
    Case { text, element, splits: splits && size > 2 * devices, elements: shape.iter().product() }
}

/// Checks that the per-device program, planned with this search, computes the program's results; returns its text.
fn same(compiler: &Compiler, case: &Case, seed: u64, search: Search) -> Result<String, String> {
    let module = done(compiler.parse(Source::new("program.mlir", &case.text)))?;
    let options = CompileOptions { search, target: Some("slow".to_owned()), ..CompileOptions::default() };
    let device = done(compiler.compile(module.clone(), "compile", &options))?;
    let mut inputs = random_inputs(&Interface::of(&module).ok_or("no interface")?.arguments, seed, 1);
    if ["pair", "f32", "bf16"].contains(&case.element) && !case.text.contains("stablehlo.add") {
        let random = &mut Rng::with_seed(seed);
        let old = &inputs[0][0];
        // Pairs are ordered by comparisons, which don't order NaN.
        let special = [f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, -7.5, -7.5, f64::NAN];
        let special = if case.element == "pair" { &special[..6] } else { &special };
        let values = (0..old.len()).map(|i| match random.usize(0..3) {
            0 => Scalar::Float(special[random.usize(0..special.len())]),
            1 => Scalar::Float(-f64::from(random.u8(1..100))),
            _ => old.get(i),
        });
        let element = if case.element == "bf16" { ElementType::BF16 } else { ElementType::F32 };
        inputs[0][0] = Literal::from_scalars(element, &old.shape, values.collect::<Vec<_>>());
    }
    let want = compiler.evaluate(&module, &inputs);
    let execute = ExecuteOptions { backend: Backend::Reference, ..ExecuteOptions::default() };
    let got = compiler.execute(&device, &inputs, &execute);
    let (Some(want), Some(got)) = (want.value, got.value) else { return Err(messages(got.diagnostics)) };
    if want != got.results {
        return Err(format!("the results differ: {want:?} {:?}", got.results));
    }
    Ok(compiler.print(&device, PrintOptions::default()))
}

#[test]
fn scans_mean_the_same_in_shards() {
    let compiler = sharded::compiler();
    let (from, count) = (number("SCANS_FROM", 0), number("SCANS_PROGRAMS", 80));
    let (mut faults, mut splits, mut whole) = (Vec::new(), 0, Vec::new());
    for seed in from..from + count {
        let case = case(seed);
        for search in [Search::Full, Search::Greedy] {
            match same(&compiler, &case, seed, search) {
                Ok(text) if search == Search::Full && case.splits => match most_gathered(&text) < case.elements {
                    true => splits += 1,
                    false => whole.push(seed),
                },
                Ok(_) => {}
                Err(fault) => faults.push(format!("seed {seed}, {search:?}: {fault}\n{}", case.text)),
            }
        }
    }
    assert!(faults.is_empty(), "{} of {count} programs:\n{}", faults.len(), faults.join("\n"));
    // If other dimensions of one or two elements are sharded many ways, moving them is more expensive than the scan.
    let most = splits > count / 2 && whole.len() as u64 * 10 < splits;
    assert!(most, "{splits} scans are done in parts, these seeds' aren't: {whole:?}");
}
