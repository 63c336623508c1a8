//! Comparisons find one wrong element at any position of random programs, and never report a correct program: each
//! element may differ by as much as rounding can move it, independently of the others.

use shardc::{Backend, CompileOptions, Compiler, Literal, Module, Tolerance};
use shardc_tests::command::shardc;
use shardc_tests::sharded::{Values, module_and_inputs, results, value};
use shardc_tests::tools::scratch;

/// The number of random programs.
const PROGRAMS: u64 = 60;
/// The relative error of the wrong element.
const WRONG: f64 = 0.04;

/// Returns the text of a random program over four devices: layers of products, elementary functions, masks, sums,
/// softmax. `narrow` adds bf16.
fn program(random: &mut fastrand::Rng, narrow: bool) -> String {
    let sharding = |random: &mut fastrand::Rng| match random.u32(..4) {
        0 => "[{\"x\"}, {}]",
        1 => "[{}, {\"x\"}]",
        2 => "[{\"x\"}, {\"y\"}]",
        _ => "[{}, {}]",
    };
    let (a, b) = (sharding(random), sharding(random));
    let mut text = format!(
        "sdy.mesh @mesh = <[\"x\"=2, \"y\"=2]>
func.func @main(%a: tensor<8x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, {a}>}}, %b: tensor<16x16xf32> {{sdy.sharding = #sdy.sharding<@mesh, {b}>}}, %m: tensor<8x16xi1>) -> (tensor<8x16xf32>, tensor<8xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %small = stablehlo.constant dense<0.3> : tensor<8x16xf32>
  %mask = stablehlo.constant dense<-1.0e30> : tensor<8x16xf32>
"
    );
    let (t, w) = ("tensor<8x16xf32>", "tensor<16x16xf32>");
    let mut values = vec!["%a".to_owned()];
    let kinds = if narrow { 9 } else { 8 };
    for n in 0..4 + random.usize(..6) {
        let v = values[values.len() - 1 - random.usize(..values.len().min(3))].clone();
        let u = values[random.usize(..values.len())].clone();
        let line = match random.u32(..kinds) {
            0 => format!("  %{n} = stablehlo.tanh {v} : {t}\n"),
            1 => format!("  %l{n} = stablehlo.logistic {v} : {t}\n  %{n} = stablehlo.multiply %l{n}, {u} : {t}\n"),
            2 => format!("  %s{n} = stablehlo.multiply {v}, %small : {t}\n  %{n} = stablehlo.add %s{n}, {u} : {t}\n"),
            3 | 4 => format!(
                "  %d{n} = stablehlo.dot_general {v}, %b, contracting_dims = [1] x [0] : ({t}, {w}) -> {t}\n  \
                 %{n} = stablehlo.multiply %d{n}, %small : {t}\n"
            ),
            // Softmax of masked rows.
            5 => format!(
                "  %k{n} = stablehlo.select %m, {v}, %mask : tensor<8x16xi1>, {t}
  %x{n} = stablehlo.reduce(%k{n} init: %low) applies stablehlo.maximum across dimensions = [1] : ({t}, tensor<f32>) -> tensor<8xf32>
  %y{n} = stablehlo.broadcast_in_dim %x{n}, dims = [0] : (tensor<8xf32>) -> {t}
  %z{n} = stablehlo.subtract %k{n}, %y{n} : {t}
  %e{n} = stablehlo.exponential %z{n} : {t}
  %q{n} = stablehlo.reduce(%e{n} init: %zero) applies stablehlo.add across dimensions = [1] : ({t}, tensor<f32>) -> tensor<8xf32>
  %p{n} = stablehlo.broadcast_in_dim %q{n}, dims = [0] : (tensor<8xf32>) -> {t}
  %{n} = stablehlo.divide %e{n}, %p{n} : {t}
"
            ),
            6 => format!(
                "  %q{n} = stablehlo.reduce({v} init: %zero) applies stablehlo.add across dimensions = [0] : ({t}, tensor<f32>) -> tensor<16xf32>
  %p{n} = stablehlo.broadcast_in_dim %q{n}, dims = [1] : (tensor<16xf32>) -> {t}
  %s{n} = stablehlo.multiply %p{n}, %small : {t}
  %{n} = stablehlo.subtract {u}, %s{n} : {t}
"
            ),
            7 => format!("  %{n} = stablehlo.maximum {v}, {u} : {t}\n"),
            _ => format!(
                "  %c{n} = stablehlo.convert {v} : ({t}) -> tensor<8x16xbf16>
  %w{n} = stablehlo.convert %b : ({w}) -> tensor<16x16xbf16>
  %d{n} = stablehlo.dot_general %c{n}, %w{n}, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
  %f{n} = stablehlo.convert %d{n} : (tensor<8x16xbf16>) -> {t}
  %{n} = stablehlo.multiply %f{n}, %small : {t}
"
            ),
        };
        text.push_str(&line);
        values.push(format!("%{n}"));
    }
    let last = values.last().expect("there is a value");
    text.push_str(&format!(
        "  %sum = stablehlo.reduce({last} init: %zero) applies stablehlo.add across dimensions = [1] : ({t}, tensor<f32>) -> tensor<8xf32>
  %masked = stablehlo.select %m, {last}, %mask : tensor<8x16xi1>, {t}
  return %masked, %sum : {t}, tensor<8xf32>
}}
"
    ));
    text
}

struct Ran {
    compiler: Compiler,
    device: Module,
    inputs: Values,
    got: Values,
    want: Values,
}

/// Returns a random program's results, in shards and unpartitioned.
fn ran(seed: u64, narrow: bool) -> Ran {
    ran_text(seed, program(&mut fastrand::Rng::with_seed(seed), narrow))
}

/// Returns a program's results for inputs generated from a seed, in shards and unpartitioned.
fn ran_text(seed: u64, text: String) -> Ran {
    let compiler = Compiler::standard();
    let (module, inputs) = module_and_inputs(&compiler, &format!("program {seed}"), text, seed);
    let device = value(seed, compiler.compile(module.clone(), "compile", &CompileOptions::default()));
    let got = results(seed, &compiler, &device, &inputs, Backend::default());
    let want = value(seed, compiler.evaluate(&module, &inputs));
    Ran { compiler, device, inputs, got, want }
}

impl Ran {
    fn faults(&self, got: &[Vec<Literal>]) -> Vec<String> {
        let found = self.compiler.compare_results(&self.device, &self.inputs, got, &self.want, Tolerance::default());
        found
            .iter()
            .filter(|r| !r.equal)
            .map(|r| format!("result {}: {}", r.index, r.comparison.text("equal")))
            .collect()
    }
}

#[test]
fn correct_programs_have_no_differences() {
    for seed in 0..PROGRAMS {
        let ran = ran(seed, seed % 2 == 0);
        let faults = ran.faults(&ran.got);
        assert!(faults.is_empty(), "program {seed}: {faults:?}\n{}", ran.device.source().text);
    }
}

#[test]
fn one_wrong_element_is_found() {
    let mut missed = Vec::new();
    let mut tried = 0;
    for seed in 0..PROGRAMS {
        let ran = ran(seed, false);
        let mut random = fastrand::Rng::with_seed(seed);
        let result = random.usize(..2);
        let right = &ran.got[0][result];
        let at = random.usize(..right.len());
        let value = right.get(at).as_f64();
        // A relative error of a few percent has no effect on 0 or on values that underflow.
        if value.abs() < 1e-30 {
            continue;
        }
        tried += 1;
        let wrong = Literal::from_fn(&right.ty(), |i| {
            let value = right.get(i).as_f64();
            dialect::scalar::Scalar::Float(if i == at { value * (1.0 + WRONG) } else { value })
        });
        let mut got = ran.got.clone();
        got[0][result] = wrong;
        if ran.faults(&got).is_empty() {
            missed.push(format!("program {seed}: result {result}, element {at}, which is {value}"));
        }
    }
    // An element that is the difference of large numbers may have any value; there are few of them.
    assert!(tried > PROGRAMS / 2 && missed.len() as u64 * 20 <= tried, "{} of {tried}: {missed:#?}", missed.len());
}

/// Positions counted by running sums and products of zeros and ones select rows. They are exact in any order of
/// addition, so a wrong row is an error. The same is true for a wrong gradient of a maximum over windows.
const COUNTED: &str = "sdy.mesh @mesh = <[\"x\"=4]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<16x4xf32>
  %low = stablehlo.constant dense<-1.5> : tensor<16x4xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<16x4xf32>
  %positive = stablehlo.compare GT, %a, %zeros, FLOAT : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xi1>
  %0 = stablehlo.convert %positive : (tensor<16x4xi1>) -> tensor<16x4xf32>
  %1 = \"stablehlo.reduce_window\"(%0, %zero) <{window_dimensions = array<i64: 16, 1>, padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  %high = stablehlo.compare GT, %a, %low, FLOAT : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xi1>
  %2 = stablehlo.convert %high : (tensor<16x4xi1>) -> tensor<16x4xf32>
  %3 = \"stablehlo.reduce_window\"(%2, %one) <{window_dimensions = array<i64: 16, 1>, padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.multiply %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  %4 = stablehlo.subtract %1, %ones : tensor<16x4xf32>
  %5 = stablehlo.convert %4 : (tensor<16x4xf32>) -> tensor<16x4xi32>
  %c0 = stablehlo.constant dense<0> : tensor<16x4xi32>
  %6 = stablehlo.maximum %5, %c0 : tensor<16x4xi32>
  %7 = stablehlo.reshape %6 : (tensor<16x4xi32>) -> tensor<16x4x1xi32>
  %8 = stablehlo.iota dim = 1 : tensor<16x4x1xi32>
  %9 = stablehlo.concatenate %7, %8, dim = 2 : (tensor<16x4x1xi32>, tensor<16x4x1xi32>) -> tensor<16x4x2xi32>
  %10 = \"stablehlo.gather\"(%a, %9) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<16x4xf32>, tensor<16x4x2xi32>) -> tensor<16x4xf32>
  %11 = stablehlo.compare EQ, %3, %ones, FLOAT : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xi1>
  %12 = stablehlo.select %11, %a, %zeros : tensor<16x4xi1>, tensor<16x4xf32>
  %13 = \"stablehlo.select_and_scatter\"(%a, %a, %zero) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 1>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %r : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %r = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %10, %12, %13 : tensor<16x4xf32>, tensor<16x4xf32>, tensor<16x4xf32>
}
";

#[test]
fn a_count_of_ones_is_exact() {
    let ran = ran_text(3, COUNTED.to_owned());
    assert_eq!(ran.faults(&ran.got), Vec::<String>::new());
    for result in 0..3 {
        let right = &ran.got[0][result];
        let distinct: std::collections::HashSet<u64> =
            (0..right.len()).map(|i| right.get(i).as_f64().to_bits()).collect();
        assert!(distinct.len() > 4, "result {result} chooses among rows: {right:?}");
        for at in (result..right.len()).step_by(9) {
            let wrong = Literal::from_fn(&right.ty(), |i| {
                let value = right.get(i).as_f64();
                dialect::scalar::Scalar::Float(if i == at { value + 1e-4 * value.abs().max(0.01) } else { value })
            });
            let mut got = ran.got.clone();
            got[0][result] = wrong;
            assert_eq!(ran.faults(&got).len(), 1, "result {result}, element {at} of {right:?}");
        }
    }
}

const MASKED: &str = "func.func public @main(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %m = stablehlo.constant dense<[[true, false, false, false], [true, true, false, false]]> : tensor<2x4xi1>
  %c = stablehlo.constant dense<-1.000000e+30> : tensor<2x4xf32>
  %0 = stablehlo.select %m, %x, %c : tensor<2x4xi1>, tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
";

/// Tests the text and JSON of `--expect` for correct results and for wrong ones next to a mask.
#[test]
fn wrong_elements_next_to_masked_ones_are_found() {
    let folder = scratch("masked");
    let file = |name: &str| folder.join(name).with_extension("npz").to_string_lossy().into_owned();
    let array = |f: &dyn Fn(usize) -> f64| {
        let ty = dialect::ir::TensorType::new(&[2, 4], dialect::ir::ElementType::F32);
        Literal::from_fn(&ty, |i| dialect::scalar::Scalar::Float(f(i)))
    };
    let masked = |i: usize, value: f64| if [0, 4, 5].contains(&i) { value } else { -1e30 };
    let write = |name: &str, array_name: &str, value: Literal| {
        let path = file(name);
        runtime::npz::write_file(path.as_ref(), &[(array_name.to_owned(), value)]).unwrap();
        path
    };
    let given = write("in", "arg0", array(&|i| i as f64));
    let right = write("right", "out0", array(&|i| masked(i, i as f64)));
    let wrong = write("wrong", "out0", array(&|i| masked(i, i as f64 + 0.5)));
    let run = |expected: &str, more: &[&str]| {
        let args = ["run", "--interpret", "-", "--inputs", &given, "--expect", expected];
        shardc(&[&args, more].concat(), MASKED).code_and_text()
    };
    assert_eq!(run(&right, &[]), (0, "result 0: as expected\n".to_owned()));
    let (code, said) = run(&wrong, &["--json=last"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.starts_with("result 0: differs in 3 of 8 elements, first at [0, 0]: got 0.0, expected 0.5"), "{said}");
    let json: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(json["ok"], false);
    assert_eq!(json["results"][0]["max_error"], 0.5);
    assert_eq!(json["results"][0]["max_error_at"], serde_json::json!([0, 0]));
    assert_eq!(json["results"][0]["count"], 3);
    // A given tolerance replaces the measured one.
    assert_eq!(run(&wrong, &["--atol", "0.5"]).0, 0);
    assert_eq!(run(&wrong, &["--atol", "0.4"]).0, 1);
    for bad in ["1e400", "-1", "nan", "-0.5"] {
        let (code, said) = run(&right, &["--rtol", bad]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("a finite number that is not negative"), "{said}");
    }
}
