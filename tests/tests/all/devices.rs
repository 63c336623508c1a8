//! Partitioned programs on simulated devices give JAX's results, natively and by the reference evaluator, also with far
//! more devices than cores.

use std::path::Path;

use shardc_tests::command::shardc;
use shardc_tests::corpus;
use shardc_tests::sharded::BACKEND_FLAGS;

fn as_jax(how: &[&str]) {
    let mut failures = Vec::new();
    for sample in corpus::samples() {
        let [program, inputs, expected] = ["program.mlir", "inputs.npz", "expected.npz"].map(|f| sample.argument(f));
        let args = ["run", &program, "--inputs", &inputs, "--expect", &expected];
        let (code, said) = shardc(&[&args, how].concat(), "").code_and_text();
        if code != 0 {
            failures.push(format!("{}: {said}", sample.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[cfg(feature = "jit")]
fn native_results_equal_those_of_jax() {
    as_jax(&[]);
}

#[test]
fn evaluated_results_equal_those_of_jax() {
    as_jax(&["--interpret"]);
}

#[test]
fn greedy_plans_keep_the_results_of_jax() {
    as_jax(&["--interpret", "--plan", "greedy"]);
}

/// Returns a product that is reduced over one axis and gathered over the other, on `rows * columns` devices; it is
/// exact in f32.
fn grid(rows: usize, columns: usize) -> String {
    let n = rows * columns;
    format!(
        r#"module attributes {{mhlo.num_partitions = {n} : i32, mhlo.num_replicas = 1 : i32}} {{
  sdy.mesh @mesh = <["x"={rows}, "y"={columns}]>
  func.func public @main(%a: tensor<{n}x{columns}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{"y"}}]>}}) -> (tensor<f32>, tensor<{n}x{n}xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x", "y"}}, {{}}]>}}) {{
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %one = stablehlo.constant dense<1.0> : tensor<{n}x{columns}xf32>
    %b = stablehlo.add %a, %one : tensor<{n}x{columns}xf32>
    %c = stablehlo.subtract %b, %a : tensor<{n}x{columns}xf32>
    %p = stablehlo.dot_general %c, %c, contracting_dims = [1] x [1] : (tensor<{n}x{columns}xf32>, tensor<{n}x{columns}xf32>) -> tensor<{n}x{n}xf32>
    %s = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<{n}x{n}xf32>, tensor<f32>) -> tensor<f32>
    return %s, %p : tensor<f32>, tensor<{n}x{n}xf32>
  }}
}}"#
    )
}

#[test]
#[cfg(feature = "jit")]
fn programs_run_on_more_devices_than_cores() {
    for (rows, columns) in [(8, 8), (16, 16)] {
        let (code, said) = shardc(&["check", "-"], grid(rows, columns)).code_and_text();
        assert_eq!(code, 0, "{rows}x{columns}: {said}");
    }
}

#[test]
#[cfg(not(feature = "jit"))]
fn without_native_execution_run_names_the_flag_to_add() {
    let program = "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> { return %a : tensor<2xi32> }";
    let (code, said) = shardc(&["run", "-"], program).code_and_text();
    assert_eq!((code, said.contains("built without native execution; add --interpret")), (2, true), "{said}");
    let (code, said) = shardc(&["run", "--interpret", "-"], program).code_and_text();
    assert_eq!((code, said.contains("result 0: tensor<2xi32>")), (0, true), "{said}");
    let (code, said) = shardc(&["compile", "--emit", "llvm", "-"], program).code_and_text();
    assert_eq!((code, said.contains("built without native execution")), (1, true), "{said}");
}

/// With both backends, errors name the op and the failing device, by its number in `--devices`.
#[test]
fn errors_name_devices_by_their_numbers_in_the_devices_flag() {
    let lit = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("lit-tests").join("run/devices.mlir");
    let lit = lit.to_string_lossy();
    for how in BACKEND_FLAGS {
        for (list, failed) in [("15,14,13,12", 12), ("7,5,3,9", 9)] {
            let (code, said) = shardc(&[&["run", "--devices", list, &lit], *how].concat(), "").code_and_text();
            let line = said.lines().next().unwrap_or_default();
            assert_eq!((code, line), (1, format!("error[device-failed]: device {failed} failed: element 0 is 3, expected 2 (exactly); 1 of 1 elements differ").as_str()));
            assert!(said.contains("devices.mlir:"), "{said}");
        }
    }
    // Results don't depend on the device numbers.
    let run = |devices: &str| shardc(&["run", "--interpret", "--devices", devices, "-"], grid(2, 2)).succeeded().text();
    assert_eq!(run("0,1,2,3"), run("15,14,13,12"));
}
