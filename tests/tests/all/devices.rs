//! Partitioned programs on simulated devices give JAX's results, natively and by the reference evaluator, also with far
//! more devices than cores.

use std::path::{Path, PathBuf};

/// Returns the exit code and all output.
fn shardc(args: &[&str], stdin: &str) -> (u8, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut stdin = stdin.as_bytes();
    let io = shardc::Io { stdin: &mut stdin, out: &mut out, err: &mut err, out_color: false, err_color: false };
    let code = shardc::run(args.iter().copied(), io);
    (code, format!("{}{}", String::from_utf8_lossy(&out), String::from_utf8_lossy(&err)))
}

fn programs() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let entries = std::fs::read_dir(&corpus).expect("the corpus");
    let mut folders: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).filter(|p| p.is_dir()).collect();
    folders.sort();
    folders
}

fn as_jax(how: &[&str]) {
    let folders = programs();
    assert!(folders.len() >= 67, "only {} programs", folders.len());
    let mut failures = Vec::new();
    for folder in folders {
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let (program, inputs, expected) = (path("program.mlir"), path("inputs.npz"), path("expected.npz"));
        let mut args = vec!["run", &program, "--inputs", &inputs, "--expect", &expected];
        args.extend(how);
        let (code, said) = shardc(&args, "");
        if code != 0 {
            failures.push(format!("{}: {said}", folder.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
#[cfg(feature = "jit")]
fn native_code_gives_what_jax_computed() {
    as_jax(&[]);
}

#[test]
fn the_evaluator_gives_what_jax_computed() {
    as_jax(&["--interpret"]);
}

#[test]
fn greedy_plans_give_what_jax_computed() {
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
fn many_devices_on_few_cores() {
    for (rows, columns) in [(8, 8), (16, 16)] {
        let (code, said) = shardc(&["check", "-"], &grid(rows, columns));
        assert_eq!(code, 0, "{rows}x{columns}: {said}");
    }
}

#[test]
#[cfg(not(feature = "jit"))]
fn without_native_execution_run_says_how_to() {
    let program = "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> { return %a : tensor<2xi32> }";
    let (code, said) = shardc(&["run", "-"], program);
    assert_eq!((code, said.contains("built without native execution; add --interpret")), (2, true), "{said}");
    let (code, said) = shardc(&["run", "--interpret", "-"], program);
    assert_eq!((code, said.contains("result 0: tensor<2xi32>")), (0, true), "{said}");
    let (code, said) = shardc(&["compile", "--emit", "llvm", "-"], program);
    assert_eq!((code, said.contains("built without native execution")), (1, true), "{said}");
}

/// With both backends, errors name the op and the failing device, by its number in `--devices`.
#[test]
fn devices_are_called_by_their_numbers() {
    let lit = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("lit-tests").join("run/devices.mlir");
    let lit = lit.to_string_lossy();
    let ways: &[&[&str]] = if cfg!(feature = "jit") { &[&[], &["--interpret"]] } else { &[&["--interpret"]] };
    for how in ways {
        for (list, failed) in [("15,14,13,12", 12), ("7,5,3,9", 9)] {
            let (code, said) = shardc(&[&["run", "--devices", list, &lit], *how].concat(), "");
            let line = said.lines().next().unwrap_or_default();
            assert_eq!((code, line), (1, format!("error[device-failed]: device {failed} failed: element 0 is 3, expected 2 (exactly); 1 of 1 elements differ").as_str()));
            assert!(said.contains("devices.mlir:"), "{said}");
        }
    }
    // Results don't depend on the device numbers.
    let run = |devices: &str| shardc(&["run", "--interpret", "--devices", devices, "-"], &grid(2, 2));
    let (a, b) = (run("0,1,2,3"), run("15,14,13,12"));
    assert_eq!((a.0, &a.1), (0, &b.1));
}
