//! Tests that simplified programs have the same results, and how few ops are left.

use dialect::buffers::simplify;
use dialect::diagnostic::Diagnostics;
use dialect::ir::TensorType;
use dialect::literal::Literal;
use dialect::ops::func;
use dialect::scalar::Scalar;
use shardc_runtime::subnormals::Subnormals;

use super::{compared, parsed};

/// Returns the names of the ops that are left of a function, after checking that its native results are those of the
/// reference.
fn left(text: &str) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(4);
    let input = |ty: &TensorType| Literal::from_fn(ty, |_| Scalar::Float(f64::from(random.i32(-9..9))));
    let found = compared(text, Subnormals::default(), input);
    for (got, want) in found.results.iter().zip(&found.expected) {
        for i in 0..want.len() {
            assert_eq!(got.get(i).as_f64(), want.get(i).as_f64(), "element {i}\n{text}");
        }
    }
    let mut simple = parsed(text);
    let main = func::function(&simple, "main").expect("a function");
    let block = func::block(&simple, main).expect("a body");
    simplify(&mut simple, block);
    let mut diagnostics = Diagnostics::default();
    dialect::verify(&simple, &mut diagnostics);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    let names = simple.ops_under(block).into_iter().map(|op| simple.op_name(op).to_owned());
    names.filter(|name| name != "func.return").collect()
}

#[test]
fn products_read_transposes_where_they_lie() {
    for (dims, contracted) in [("[1, 0]", "[1] x [0]"), ("[1, 0]", "[0] x [0]")] {
        let ops = left(&format!(
            "func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {{
             %t = stablehlo.transpose %x, dims = {dims} : (tensor<8x8xf32>) -> tensor<8x8xf32>
             %u = stablehlo.transpose %y, dims = {dims} : (tensor<8x8xf32>) -> tensor<8x8xf32>
             %r = stablehlo.dot_general %t, %u, contracting_dims = {contracted} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
             return %r : tensor<8x8xf32> }}"
        ));
        assert_eq!(ops, ["stablehlo.dot_general"]);
    }
    // Two transposes, and a batch.
    let ops = left(
        "func.func @main(%x: tensor<2x5x3x4xf32>, %y: tensor<2x5x4x6xf32>) -> tensor<5x2x3x6xf32> {
         %t = stablehlo.transpose %x, dims = [3, 0, 1, 2] : (tensor<2x5x3x4xf32>) -> tensor<4x2x5x3xf32>
         %u = stablehlo.transpose %t, dims = [2, 0, 3, 1] : (tensor<4x2x5x3xf32>) -> tensor<5x4x3x2xf32>
         %r = stablehlo.dot_general %u, %y, batching_dims = [0, 3] x [1, 0], contracting_dims = [1] x [2] : (tensor<5x4x3x2xf32>, tensor<2x5x4x6xf32>) -> tensor<5x2x3x6xf32>
         return %r : tensor<5x2x3x6xf32> }",
    );
    assert_eq!(ops, ["stablehlo.dot_general"]);
}

#[test]
fn free_dimensions_keep_their_order() {
    let ops = left(
        "func.func @main(%x: tensor<3x4x5xf32>, %y: tensor<5x6xf32>) -> tensor<4x3x6xf32> {
         %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<3x4x5xf32>) -> tensor<4x3x5xf32>
         %r = stablehlo.dot_general %t, %y, contracting_dims = [2] x [0] : (tensor<4x3x5xf32>, tensor<5x6xf32>) -> tensor<4x3x6xf32>
         return %r : tensor<4x3x6xf32> }",
    );
    assert_eq!(ops, ["stablehlo.transpose", "stablehlo.dot_general"]);
}

#[test]
fn products_write_transposes() {
    let ops = left(
        "func.func @main(%x: tensor<7x2x4x3xf32>, %y: tensor<2x7x5x4xf32>) -> tensor<7x2x5x3xf32> {
         %r = stablehlo.dot_general %x, %y, batching_dims = [1, 0] x [0, 1], contracting_dims = [2] x [3] : (tensor<7x2x4x3xf32>, tensor<2x7x5x4xf32>) -> tensor<2x7x3x5xf32>
         %t = stablehlo.transpose %r, dims = [1, 0, 3, 2] : (tensor<2x7x3x5xf32>) -> tensor<7x2x5x3xf32>
         return %t : tensor<7x2x5x3xf32> }",
    );
    assert_eq!(ops, ["stablehlo.dot_general"]);
    // The product itself is read, too. Also a transpose that isn't an exchange of operands.
    let ops = left(
        "func.func @main(%x: tensor<3x4xf32>, %y: tensor<4x5xf32>) -> (tensor<5x3xf32>, tensor<3x5xf32>) {
         %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
         %t = stablehlo.transpose %r, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
         return %t, %r : tensor<5x3xf32>, tensor<3x5xf32> }",
    );
    assert_eq!(ops, ["stablehlo.dot_general", "stablehlo.transpose"]);
    let ops = left(
        "func.func @main(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>) -> tensor<3x2x5xf32> {
         %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
         %t = stablehlo.transpose %r, dims = [1, 0, 2] : (tensor<2x3x5xf32>) -> tensor<3x2x5xf32>
         return %t : tensor<3x2x5xf32> }",
    );
    assert_eq!(ops, ["stablehlo.dot_general", "stablehlo.transpose"]);
}

#[test]
fn small_values_of_constants_are_constants() {
    let ops = left(
        "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
         %c = stablehlo.constant dense<3> : tensor<i32>
         %f = stablehlo.convert %c : (tensor<i32>) -> tensor<f32>
         %d = stablehlo.subtract %f, %f : tensor<f32>
         %b = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f32>) -> tensor<4xf32>
         %r = stablehlo.add %x, %b : tensor<4xf32>
         return %r : tensor<4xf32> }",
    );
    assert!(ops.iter().all(|op| op == "stablehlo.constant" || op == "stablehlo.add"), "{ops:?}");
}

#[test]
fn whole_tensors_are_reduced_in_rows() {
    let reduce = |shape: &str, dims: &str, op: &str, init: &str, result: &str| {
        format!(
            "func.func @main(%x: tensor<{shape}xf32>) -> tensor<{result}f32> {{
             %i = stablehlo.constant dense<{init}> : tensor<f32>
             %r = stablehlo.reduce(%x init: %i) applies stablehlo.{op} across dimensions = [{dims}] : (tensor<{shape}xf32>, tensor<f32>) -> tensor<{result}f32>
             return %r : tensor<{result}f32> }}"
        )
    };
    let reduces = |text: &str| left(text).iter().filter(|name| *name == "stablehlo.reduce").count();
    // The init is added only once. Sums of small integers are exact.
    assert_eq!(reduces(&reduce("300000", "0", "add", "5.0", "")), 2);
    assert_eq!(reduces(&reduce("8x40x512", "0, 1, 2", "maximum", "3.0", "")), 2);
    assert_eq!(reduces(&reduce("3x509x512", "1, 2", "minimum", "-8.5", "3x")), 2);
    assert_eq!(reduces(&reduce("2x3x16x65536", "0, 2, 3", "add", "1.0", "3x")), 2);
    // Too few elements, enough results, and a prime number of elements.
    assert_eq!(reduces(&reduce("8x4096", "0, 1", "add", "0.0", "")), 1);
    assert_eq!(reduces(&reduce("16x65536", "1", "add", "0.0", "16x")), 1);
    assert_eq!(reduces(&reduce("65537", "0", "add", "0.0", "")), 1);
}
