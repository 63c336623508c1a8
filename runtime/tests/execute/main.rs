//! Tests that native code gives the same results as the reference evaluator, on programs for one device.
#![cfg(feature = "jit")]

mod complex;
mod examples;
mod simplify;
mod vectors;

use dialect::diagnostic::Diagnostics;
use dialect::ir::{ElementType, Program, TensorType};
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::scalar::Scalar;
use shardc_runtime::execute::Executable;
use shardc_runtime::reference::evaluate_global;
use shardc_runtime::subnormals::Subnormals;

fn parsed(text: &str) -> Program {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    program
}

/// The inputs of a program, and its results by the reference evaluator and by native code.
struct Compared {
    inputs: Vec<Literal>,
    expected: Vec<Literal>,
    results: Vec<Literal>,
    /// The text of all kernels.
    kernels: String,
}

/// Runs a program on inputs that `input` makes.
fn compared(text: &str, subnormals: Subnormals, input: impl FnMut(&TensorType) -> Literal) -> Compared {
    let program = parsed(text);
    let main = func::function(&program, "main").expect("a main");
    let types = func::signature(&program, main).inputs;
    let types = types.iter().map(|&ty| program.type_data(ty).tensor().expect("a tensor"));
    let inputs: Vec<Literal> = types.map(input).collect();
    let expected = evaluate_global(&program, &inputs).expect("evaluates");
    let executable = Executable::compile(program, None).unwrap_or_else(|d| panic!("{text}\n{d:?}"));
    let session = executable.session().expect("memory").with_subnormals(subnormals);
    session.set_inputs(&inputs).expect("inputs fit");
    session.run().unwrap_or_else(|d| panic!("{d:?}"));
    let results = session.results();
    let types = |list: &[Literal]| list.iter().map(Literal::ty).collect::<Vec<TensorType>>();
    assert_eq!(types(&results), types(&expected), "{text}");
    Compared { inputs, expected, results, kernels: executable.kernel_text() }
}

/// Returns small values of any type, deterministically.
fn input(ty: &TensorType, salt: u64) -> Literal {
    let mut random = fastrand::Rng::with_seed(salt);
    Literal::from_fn(ty, |_| {
        let v = random.i64(-8..=8);
        match ty.element {
            e if e.is_float() => Scalar::Float(v as f64 / 4.0),
            e if e.is_complex() => Scalar::Complex(v as f64 / 4.0, f64::from(random.u32(..5)) / 2.0 - 1.0),
            ElementType::I1 => Scalar::Int((v & 1).into()),
            _ => Scalar::Int(v.into()).round(ty.element),
        }
    })
}

fn check(text: &str) {
    let mut salts = 0..;
    let found = compared(text, Subnormals::default(), |ty| input(ty, salts.next().expect("a number")));
    for (r, (got, want)) in found.results.iter().zip(&found.expected).enumerate() {
        for i in 0..want.len() {
            let (g, w) = (got.get(i), want.get(i));
            let eps = if want.element.bits() < 32 { 2e-2 } else { 1e-5 };
            let near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= eps + eps * b.abs();
            let close = match (g, w) {
                (Scalar::Float(a), Scalar::Float(b)) => near(a, b),
                (Scalar::Complex(a, b), Scalar::Complex(c, d)) => near(a, c) && near(b, d),
                _ => g == w,
            };
            assert!(close, "result {r} element {i}: {g:?}, expected {w:?}\n{text}\n{}", found.kernels);
        }
    }
}

#[test]
fn elementwise_chains_of_every_type() {
    for t in ["f32", "f64", "bf16", "f16"] {
        check(&format!(
            "func.func @main(%a: tensor<5x7x{t}>, %b: tensor<5x7x{t}>) -> (tensor<5x7x{t}>, tensor<5x7xi1>) {{
              %0 = stablehlo.multiply %a, %a : tensor<5x7x{t}>
              %1 = stablehlo.add %0, %b : tensor<5x7x{t}>
              %2 = stablehlo.tanh %1 : tensor<5x7x{t}>
              %3 = stablehlo.maximum %2, %a : tensor<5x7x{t}>
              %4 = stablehlo.exponential %3 : tensor<5x7x{t}>
              %5 = stablehlo.sign %a : tensor<5x7x{t}>
              %6 = stablehlo.divide %4, %5 : tensor<5x7x{t}>
              %7 = stablehlo.compare GT, %6, %b : (tensor<5x7x{t}>, tensor<5x7x{t}>) -> tensor<5x7xi1>
              %8 = stablehlo.select %7, %6, %1 : tensor<5x7xi1>, tensor<5x7x{t}>
              return %8, %7 : tensor<5x7x{t}>, tensor<5x7xi1>
            }}"
        ));
    }
    for t in ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"] {
        check(&format!(
            "func.func @main(%a: tensor<5x7x{t}>, %b: tensor<5x7x{t}>) -> (tensor<5x7x{t}>, tensor<5x7x{t}>, tensor<5x7xf32>) {{
              %0 = stablehlo.divide %a, %b : tensor<5x7x{t}>
              %1 = stablehlo.remainder %a, %b : tensor<5x7x{t}>
              %2 = stablehlo.shift_left %a, %b : tensor<5x7x{t}>
              %3 = stablehlo.shift_right_logical %a, %b : tensor<5x7x{t}>
              %4 = stablehlo.shift_right_arithmetic %a, %b : tensor<5x7x{t}>
              %5 = stablehlo.xor %2, %3 : tensor<5x7x{t}>
              %6 = stablehlo.add %5, %4 : tensor<5x7x{t}>
              %7 = stablehlo.minimum %0, %1 : tensor<5x7x{t}>
              %8 = stablehlo.convert %7 : (tensor<5x7x{t}>) -> tensor<5x7xf32>
              %9 = stablehlo.not %6 : tensor<5x7x{t}>
              %10 = stablehlo.popcnt %9 : tensor<5x7x{t}>
              return %10, %7, %8 : tensor<5x7x{t}>, tensor<5x7x{t}>, tensor<5x7xf32>
            }}"
        ));
    }
}

#[test]
fn floats_of_a_byte_are_summed_scanned_and_seen_through_windows() {
    for t in ["f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ"] {
        check(&format!(
            "func.func @main(%a: tensor<6x40x{t}>) -> (tensor<6x{t}>, tensor<40x{t}>, tensor<6x39x{t}>, tensor<6x40x{t}>, tensor<6x40x{t}>) {{
              %z = stablehlo.constant dense<0.0> : tensor<{t}>
              %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<6x40x{t}>, tensor<{t}>) -> tensor<6x{t}>
              %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x40x{t}>, tensor<{t}>) -> tensor<40x{t}>
              %2 = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: 1, 2>}}> ({{
              ^bb0(%x: tensor<{t}>, %y: tensor<{t}>):
                %s = stablehlo.maximum %x, %y : tensor<{t}>
                stablehlo.return %s : tensor<{t}>
              }}) : (tensor<6x40x{t}>, tensor<{t}>) -> tensor<6x39x{t}>
              %3 = \"stablehlo.reduce_window\"(%a, %z) <{{window_dimensions = array<i64: 1, 40>, padding = dense<[[0, 0], [39, 0]]> : tensor<2x2xi64>}}> ({{
              ^bb0(%x: tensor<{t}>, %y: tensor<{t}>):
                %s = stablehlo.add %x, %y : tensor<{t}>
                stablehlo.return %s : tensor<{t}>
              }}) : (tensor<6x40x{t}>, tensor<{t}>) -> tensor<6x40x{t}>
              %4 = stablehlo.exponential %a : tensor<6x40x{t}>
              return %0, %1, %2, %3, %4 : tensor<6x{t}>, tensor<40x{t}>, tensor<6x39x{t}>, tensor<6x40x{t}>, tensor<6x40x{t}>
            }}"
        ));
    }
}

#[test]
fn softmax_and_column_sums() {
    check(
        "func.func @main(%a: tensor<6x16xf32>) -> (tensor<6x16xf32>, tensor<16xf32>) {
          %z = stablehlo.constant dense<0.0> : tensor<f32>
          %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
          %m = stablehlo.reduce(%a init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<6x16xf32>, tensor<f32>) -> tensor<6xf32>
          %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<6xf32>) -> tensor<6x16xf32>
          %d = stablehlo.subtract %a, %mb : tensor<6x16xf32>
          %e = stablehlo.exponential %d : tensor<6x16xf32>
          %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<6x16xf32>, tensor<f32>) -> tensor<6xf32>
          %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<6xf32>) -> tensor<6x16xf32>
          %r = stablehlo.divide %e, %sb : tensor<6x16xf32>
          %c = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6x16xf32>, tensor<f32>) -> tensor<16xf32>
          return %r, %c : tensor<6x16xf32>, tensor<16xf32>
        }",
    );
}

#[test]
fn moving_elements() {
    check(
        "func.func @main(%a: tensor<4x6xi32>, %b: tensor<3x6xi32>, %k: tensor<i32>) -> (tensor<2x3x7xi32>, tensor<9x5xi32>, tensor<2x2xi32>, tensor<4x6xi32>) {
          %c = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4x6xi32>, tensor<3x6xi32>) -> tensor<7x6xi32>
          %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<7x6xi32>) -> tensor<6x7xi32>
          %r = stablehlo.reshape %t : (tensor<6x7xi32>) -> tensor<2x3x7xi32>
          %z = stablehlo.constant dense<9> : tensor<i32>
          %s = stablehlo.slice %c [0:7:2, 1:6:2] : (tensor<7x6xi32>) -> tensor<4x3xi32>
          %p = stablehlo.pad %s, %z, low = [1, -1], high = [1, 1], interior = [1, 1] : (tensor<4x3xi32>, tensor<i32>) -> tensor<9x5xi32>
          %d = stablehlo.dynamic_slice %a, %k, %k, sizes = [2, 2] : (tensor<4x6xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %u = stablehlo.dynamic_update_slice %a, %d, %one, %k : (tensor<4x6xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<4x6xi32>
          return %r, %p, %d, %u : tensor<2x3x7xi32>, tensor<9x5xi32>, tensor<2x2xi32>, tensor<4x6xi32>
        }",
    );
}

#[test]
fn loops_carry_and_swap() {
    check(
        "func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<3xf32>) {
          %zero = stablehlo.constant dense<0> : tensor<i32>
          %r:3 = stablehlo.while(%i = %zero, %x = %a, %y = %b) : tensor<i32>, tensor<3xf32>, tensor<3xf32>
          cond {
            %n = stablehlo.constant dense<5> : tensor<i32>
            %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %j = stablehlo.add %i, %one : tensor<i32>
            %s = stablehlo.add %x, %a : tensor<3xf32>
            stablehlo.return %j, %y, %s : tensor<i32>, tensor<3xf32>, tensor<3xf32>
          }
          return %r#0, %r#1, %r#2 : tensor<i32>, tensor<3xf32>, tensor<3xf32>
        }",
    );
}

#[test]
fn products() {
    for (a, b, o) in [
        ("f32", "f32", "f32"),
        ("f64", "f64", "f64"),
        ("bf16", "bf16", "bf16"),
        ("bf16", "bf16", "f32"),
        ("i8", "i8", "i32"),
        ("i32", "i32", "i32"),
        ("ui8", "ui8", "ui8"),
    ] {
        check(&format!(
            "func.func @main(%a: tensor<3x5x2x7x{a}>, %b: tensor<7x3x4x2x{b}>) -> (tensor<3x5x4x{o}>, tensor<5x7x7x5x{o}>) {{
              %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [1], contracting_dims = [2, 3] x [3, 0] : (tensor<3x5x2x7x{a}>, tensor<7x3x4x2x{b}>) -> tensor<3x5x4x{o}>
              %1 = stablehlo.dot_general %a, %a, contracting_dims = [0, 2] x [0, 2] : (tensor<3x5x2x7x{a}>, tensor<3x5x2x7x{a}>) -> tensor<5x7x5x7x{o}>
              %2 = stablehlo.transpose %1, dims = [0, 1, 3, 2] : (tensor<5x7x5x7x{o}>) -> tensor<5x7x7x5x{o}>
              return %0, %2 : tensor<3x5x4x{o}>, tensor<5x7x7x5x{o}>
            }}"
        ));
    }
    check(
        "func.func @main(%a: tensor<3x0xf32>, %b: tensor<0x4xf32>) -> tensor<3x4xf32> {
          %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x0xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
          return %0 : tensor<3x4xf32>
        }",
    );
}

/// Convolutions with padding: of a producer's result by a kernel that is one constant, with a reader.
#[test]
fn convolutions_among_other_ops() {
    check(
        "func.func @main(%a: tensor<2x6x5x3xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x6x5x3xf32>) {
          %k = stablehlo.constant dense<0.25> : tensor<3x3x3x4xf32>
          %n = stablehlo.negate %a : tensor<2x6x5x3xf32>
          %r = stablehlo.convolution(%n, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x5x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x6x5x4xf32>
          %t = stablehlo.tanh %r : tensor<2x6x5x4xf32>
          %m = stablehlo.add %n, %n : tensor<2x6x5x3xf32>
          return %t, %m : tensor<2x6x5x4xf32>, tensor<2x6x5x3xf32>
        }",
    );
}

/// Scans by one operation and by several, forward and backward, along each dimension, after other ops.
#[test]
fn scans() {
    let window = |dim: usize, backward: bool, region: &str| {
        let (mut sizes, mut padding) = ([1, 1, 1], [[0, 0]; 3]);
        let shape = [3, 5, 4];
        sizes[dim] = shape[dim];
        padding[dim][usize::from(backward)] = shape[dim] - 1;
        let sizes = sizes.map(|n| n.to_string()).join(", ");
        format!(
            "func.func @main(%a: tensor<3x5x4xf32>) -> tensor<3x5x4xf32> {{
              %init = stablehlo.constant dense<0xFF800000> : tensor<f32>
              %n = stablehlo.negate %a : tensor<3x5x4xf32>
              %r = \"stablehlo.reduce_window\"(%n, %init) <{{padding = dense<{padding:?}> : tensor<3x2xi64>, window_dimensions = array<i64: {sizes}>}}> ({{
              ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                {region}
                stablehlo.return %s : tensor<f32>
              }}) : (tensor<3x5x4xf32>, tensor<f32>) -> tensor<3x5x4xf32>
              %t = stablehlo.abs %r : tensor<3x5x4xf32>
              return %t : tensor<3x5x4xf32>
            }}"
        )
    };
    // The logarithm of the sum of exponentials, as JAX prints it.
    let several = "%m = stablehlo.maximum %x, %y : tensor<f32>
        %d = stablehlo.subtract %x, %y : tensor<f32>
        %p = stablehlo.compare NE, %d, %d, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %q = stablehlo.add %x, %y : tensor<f32>
        %e = stablehlo.abs %d : tensor<f32>
        %f = stablehlo.negate %e : tensor<f32>
        %g = stablehlo.exponential %f : tensor<f32>
        %h = stablehlo.log_plus_one %g : tensor<f32>
        %i = stablehlo.add %m, %h : tensor<f32>
        %s = stablehlo.select %p, %q, %i : tensor<i1>, tensor<f32>";
    for (dim, backward) in [(0, false), (1, true), (2, false), (2, true)] {
        check(&window(dim, backward, "%s = stablehlo.maximum %x, %y : tensor<f32>"));
        check(&window(dim, backward, several));
    }
    // The larger value and its index. Among equal values, the first wins.
    for padding in ["[[6, 0]]", "[[0, 6]]"] {
        check(&format!(
            "func.func @main(%a: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xi32>) {{
              %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
              %none = stablehlo.constant dense<-1> : tensor<i32>
              %i = stablehlo.iota dim = 0 : tensor<7xi32>
              %v:2 = \"stablehlo.reduce_window\"(%a, %i, %low, %none) <{{padding = dense<{padding}> : tensor<1x2xi64>, window_dimensions = array<i64: 7>}}> ({{
              ^bb0(%x: tensor<f32>, %j: tensor<i32>, %y: tensor<f32>, %k: tensor<i32>):
                %p = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
                %v = stablehlo.select %p, %x, %y : tensor<i1>, tensor<f32>
                %w = stablehlo.select %p, %j, %k : tensor<i1>, tensor<i32>
                stablehlo.return %v, %w : tensor<f32>, tensor<i32>
              }}) : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<7xf32>, tensor<7xi32>)
              return %v#0, %v#1 : tensor<7xf32>, tensor<7xi32>
            }}"
        ));
    }
}

#[test]
fn products_of_every_type_and_layout() {
    // Small sizes and several large blocks, with separate or adjacent rows and columns, batches, and two contracted
    // dimensions.
    let forms = [
        ("3x5x{k}", "3x{k}x7", "batching_dims = [0] x [0], contracting_dims = [2] x [1]", "3x5x7"),
        ("{k}x300", "520x{k}", "contracting_dims = [0] x [1]", "300x520"),
        ("9x{k}", "{k}x2", "contracting_dims = [1] x [0]", "9x2"),
        ("4x{k}x3", "3x{k}x6", "contracting_dims = [1, 2] x [1, 0]", "4x6"),
    ];
    let types = ["i8", "ui8", "i16", "ui16", "i32", "ui64", "i1", "bf16", "f16", "f32", "f64"];
    for (n, t) in types.iter().enumerate() {
        for (f, (lhs, rhs, dims, out)) in forms.iter().enumerate() {
            let k = [0, 1, 13, 300][(n + f) % 4];
            let [lhs, rhs] = [lhs, rhs].map(|s| s.replace("{k}", &k.to_string()));
            let to = match *t {
                "i8" | "ui8" => "i32",
                "bf16" if f == 0 => "f32",
                t => t,
            };
            check(&format!(
                "func.func @main(%a: tensor<{lhs}x{t}>, %b: tensor<{rhs}x{t}>) -> tensor<{out}x{to}> {{
                  %0 = stablehlo.dot_general %a, %b, {dims} : (tensor<{lhs}x{t}>, tensor<{rhs}x{t}>) -> tensor<{out}x{to}>
                  return %0 : tensor<{out}x{to}>
                }}"
            ));
        }
    }
}

#[test]
fn sums_of_the_largest_bytes_are_exact() {
    for (t, pick, most, to) in [
        ("i8", "minimum", -128, "i32"),
        ("ui8", "maximum", 255, "ui32"),
        ("i8", "minimum", -128, "i64"),
        ("ui8", "maximum", 255, "ui8"),
    ] {
        check(&format!(
            "func.func @main(%a: tensor<14x3001x{t}>, %b: tensor<3001x35x{t}>) -> (tensor<14x35x{to}>, tensor<14x35x{to}>) {{
              %c = stablehlo.constant dense<{most}> : tensor<14x3001x{t}>
              %d = stablehlo.constant dense<{most}> : tensor<3001x35x{t}>
              %x = stablehlo.{pick} %a, %c : tensor<14x3001x{t}>
              %y = stablehlo.{pick} %b, %d : tensor<3001x35x{t}>
              %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<14x3001x{t}>, tensor<3001x35x{t}>) -> tensor<14x35x{to}>
              %1 = stablehlo.dot_general %x, %b, contracting_dims = [1] x [0] : (tensor<14x3001x{t}>, tensor<3001x35x{t}>) -> tensor<14x35x{to}>
              return %0, %1 : tensor<14x35x{to}>, tensor<14x35x{to}>
            }}"
        ));
    }
}

#[test]
fn updates_in_a_loop_write_only_the_part_that_changes() {
    // Rows that are written at positions, some of them clamped, and read again in the next step; one dimension is
    // whole.
    check(
        "func.func @main(%a: tensor<7x4x3xf32>, %r: tensor<2x4x2xf32>) -> (tensor<7x4x3xf32>, tensor<i32>) {
          %0 = stablehlo.constant dense<-2> : tensor<i32>
          %1:2 = stablehlo.while(%i = %0, %x = %a) : tensor<i32>, tensor<7x4x3xf32>
          cond {
            %n = stablehlo.constant dense<9> : tensor<i32>
            %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          } do {
            %one = stablehlo.constant dense<1> : tensor<i32>
            %z = stablehlo.constant dense<0> : tensor<i32>
            %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
            %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<2x4x2xf32>
            %s = stablehlo.add %r, %b : tensor<2x4x2xf32>
            %u = stablehlo.dynamic_update_slice %x, %s, %i, %z, %i : (tensor<7x4x3xf32>, tensor<2x4x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<7x4x3xf32>
            %j = stablehlo.add %i, %one : tensor<i32>
            stablehlo.return %j, %u : tensor<i32>, tensor<7x4x3xf32>
          }
          return %1#1, %1#0 : tensor<7x4x3xf32>, tensor<i32>
        }",
    );
}

#[test]
fn results_that_several_devices_hold_are_put_together_once() {
    let text =
        "module attributes {mhlo.num_partitions = 4 : i32, shardc.meshes = {mesh = \"<[\\22x\\22=2, \\22y\\22=2]>\"}} {
      func.func @main(%a: tensor<4xf32>) -> (
          tensor<4xf32> {shardc.global_type = tensor<4xf32>, shardc.sharding = \"<@mesh, [{}]>\"},
          tensor<4xf32> {shardc.global_type = tensor<8xf32>, shardc.sharding = \"<@mesh, [{\\22x\\22}]>\"}) {
        return %a, %a : tensor<4xf32>, tensor<4xf32>
      }
    }";
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    dialect::verify(&program, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    let executable = Executable::compile(program, None).expect("compiles");
    assert_eq!(executable.devices(), 4);
    // The first result has 16 bytes, the second 32. The last two devices have half of the second.
    assert_eq!((executable.result_bytes(&(0..4)), executable.result_bytes(&(2..4))), (48, 16));
}

#[test]
fn subnormal_numbers_are_kept_where_that_is_asked_for() {
    let text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.multiply %a, %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }";
    let program = dialect::parse(text, &mut Diagnostics::default());
    let executable = Executable::compile(program, None).expect("compiles");
    let ty = TensorType::new(&[4], ElementType::F32);
    let values = [1e-20f32, 2.0, 1e-42, -1e-20];
    let input = Literal::from_fn(&ty, |i| Scalar::Float(values[i].into()));
    let run = |subnormals| -> Vec<f64> {
        let session = executable.session().expect("memory").with_subnormals(subnormals);
        session.set_inputs(std::slice::from_ref(&input)).expect("inputs fit");
        session.run().expect("runs");
        (0..4).map(|i| session.results()[0].get(i).as_f64()).collect()
    };
    let square = |v: f32| f64::from(v * v);
    assert_eq!(run(Subnormals::Keep), values.map(square));
    assert!(square(values[0]) > 0.0);
    assert_eq!(run(Subnormals::Flush), [0.0, 4.0, 0.0, 0.0]);
}

/// A loop that writes rows of a carried tensor, computed and unchanged, at starts inside and outside.
#[test]
fn loops_replace_rows_in_place() {
    for ty in ["f32", "i8", "f64"] {
        check(&format!(
            "func.func @main(%a: tensor<7x5x4x{ty}>, %u: tensor<1x2x4x{ty}>, %s: tensor<i32>, %w: tensor<i64>, %x: tensor<4x3x{ty}>) -> (tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>) {{
              %zero = stablehlo.constant dense<0> : tensor<i32>
              %one = stablehlo.constant dense<1> : tensor<i32>
              %r:2 = stablehlo.while(%i = %zero, %c = %a) : tensor<i32>, tensor<7x5x4x{ty}>
              cond {{
                %n = stablehlo.constant dense<9> : tensor<i32>
                %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
                stablehlo.return %p : tensor<i1>
              }} do {{
                %v = stablehlo.add %u, %u : tensor<1x2x4x{ty}>
                %d = stablehlo.dynamic_update_slice %c, %v, %i, %s, %zero : (tensor<7x5x4x{ty}>, tensor<1x2x4x{ty}>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<7x5x4x{ty}>
                %j = stablehlo.add %i, %one : tensor<i32>
                stablehlo.return %j, %d : tensor<i32>, tensor<7x5x4x{ty}>
              }}
              %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x3x{ty}>) -> tensor<3x4x{ty}>
              %q = stablehlo.reshape %t : (tensor<3x4x{ty}>) -> tensor<3x1x4x{ty}>
              %wz = stablehlo.constant dense<0> : tensor<i64>
              %e = stablehlo.dynamic_update_slice %a, %q, %w, %wz, %w : (tensor<7x5x4x{ty}>, tensor<3x1x4x{ty}>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7x5x4x{ty}>
              %f = stablehlo.slice %e [0:7, 0:5, 1:3] : (tensor<7x5x4x{ty}>) -> tensor<7x5x2x{ty}>
              %g = stablehlo.dynamic_update_slice %e, %f, %wz, %wz, %w : (tensor<7x5x4x{ty}>, tensor<7x5x2x{ty}>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7x5x4x{ty}>
              %h = stablehlo.dynamic_update_slice %g, %u, %wz, %w, %w : (tensor<7x5x4x{ty}>, tensor<1x2x4x{ty}>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<7x5x4x{ty}>
              return %r#1, %e, %g, %h : tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>, tensor<7x5x4x{ty}>
            }}"
        ));
    }
}
