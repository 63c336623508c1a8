//! Replicas of a partitioned program, each with its own arguments, natively and by the reference evaluator.

use dialect::ir::ElementType;
use dialect::literal::Literal;
use dialect::scalar::Scalar;
use runtime::npz;
use shardc_tests::command::shardc;
use shardc_tests::tools::scratch;

/// A program that returns the other replica's argument, the sum of both arguments, the total of its own argument, and
/// the replica number, on four devices per replica.
const PROGRAM: &str = r#"module attributes {mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func @main(%a: tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<ui32>) {
    %other = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<5xi32>) -> tensor<5xi32>
    %sum = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<5xi32>) -> tensor<5xi32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %total = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xi32>, tensor<i32>) -> tensor<i32>
    %who = stablehlo.replica_id : tensor<ui32>
    return %other, %sum, %total, %who : tensor<5xi32>, tensor<5xi32>, tensor<i32>, tensor<ui32>
  }
}
"#;

fn ints(values: &[i64]) -> Literal {
    Literal::from_scalars(ElementType::I32, &[values.len() as i64], values.iter().map(|&v| Scalar::Int(v.into())))
}

/// Returns all results by name, of a run with these arrays and the flags `how`.
fn run(how: &[&str], arrays: &[(&str, Literal)], name: &str) -> Vec<(String, Vec<i64>)> {
    let [inputs, outputs] = ["in.npz", "out.npz"].map(|file| scratch(name).join(file));
    let arrays: Vec<(String, Literal)> = arrays.iter().map(|a| (a.0.to_owned(), a.1.clone())).collect();
    npz::write_file(&inputs, &arrays).expect("inputs are written");
    let (inputs, outputs) = (inputs.to_string_lossy().into_owned(), outputs.to_string_lossy().into_owned());
    let args = ["run", "-", "--inputs", &inputs, "--outputs", &outputs];
    shardc(&[&args, how].concat(), PROGRAM).succeeded();
    let results = npz::read_file(outputs.as_ref()).expect("outputs are there");
    results.into_iter().map(|(name, value)| (name, value.to_ints().expect("integers"))).collect()
}

fn each_replica_runs_its_own(how: &[&str], name: &str) {
    let (first, second) = (ints(&[1, 2, 3, 4, 5]), ints(&[10, 20, 30, 40, 50]));
    let found = run(how, &[("arg0", first.clone()), ("arg0.replica1", second)], name);
    let expected: [(&str, &[i64]); 8] = [
        ("out0", &[10, 20, 30, 40, 50]),
        ("out1", &[11, 22, 33, 44, 55]),
        ("out2", &[15]),
        ("out3", &[0]),
        ("out0.replica1", &[1, 2, 3, 4, 5]),
        ("out1.replica1", &[11, 22, 33, 44, 55]),
        ("out2.replica1", &[150]),
        ("out3.replica1", &[1]),
    ];
    let expected: Vec<(String, Vec<i64>)> = expected.iter().map(|e| (e.0.to_owned(), e.1.to_vec())).collect();
    assert_eq!(found, expected);
    // Without its own arrays, the second replica gets those of the first.
    let found = run(how, &[("arg0", first)], name);
    assert_eq!(found[4], ("out0.replica1".to_owned(), vec![1, 2, 3, 4, 5]));
    assert_eq!(found[6], ("out2.replica1".to_owned(), vec![15]));
}

#[test]
fn by_the_evaluator_each_replica_runs_its_own() {
    each_replica_runs_its_own(&["--interpret"], "replicas_interpreted");
}

#[test]
#[cfg(feature = "jit")]
fn natively_each_replica_runs_its_own() {
    each_replica_runs_its_own(&[], "replicas_native");
}
