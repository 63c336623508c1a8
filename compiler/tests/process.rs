//! The program as a process: exit codes, pipes, and the contents of each stream.

use std::io::{Read, Write};
use std::process::{Command, Output, Stdio};

const GOOD: &str = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n";
const BAD: &str = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %y : tensor<4xf32>\n}\n";

fn shardc(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shardc"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that rejects its arguments doesn't read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn results_go_to_standard_output_and_diagnostics_to_standard_error() {
    let good = shardc(&["opt", "-"], GOOD);
    assert_eq!(good.status.code(), Some(0));
    assert!(text(&good.stdout).starts_with("module {\n  func.func @main(%arg0: tensor<4xf32>)"));
    assert_eq!(text(&good.stderr), "");
    // Like mlir-opt, it reads standard input if no file is named.
    assert_eq!(shardc(&["opt"], GOOD).stdout, good.stdout);
    let bad = shardc(&["opt", "-"], BAD);
    assert_eq!(bad.status.code(), Some(1));
    assert_eq!(text(&bad.stdout), "");
    assert!(text(&bad.stderr).contains("error[undefined-value]: %y is not defined here"));
    assert!(text(&bad.stderr).contains("<stdin>:2:10"));
    // Only terminals get colors.
    assert!(!text(&bad.stderr).contains('\x1b'));
}

#[test]
fn usage_is_exit_code_2() {
    for args in [&["compile"][..], &["nonsense"], &["opt", "--nonsense", "-"], &["opt", "no/such/file.mlir"], &[]] {
        let output = shardc(args, GOOD);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
    for args in [&["--help"][..], &["--version"], &["opt", "--help"], &["help", "run"], &["help", "codes"]] {
        let output = shardc(args, "");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn codes_are_explained() {
    let output = shardc(&["help", "codes", "unknown-op"], "");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "unknown-op  No op has this name.\n"));
    let all = shardc(&["help", "codes"], "");
    assert!(text(&all.stdout).lines().count() > 80 && text(&all.stdout).contains("\nuneven-op "));
    let output = shardc(&["help", "codes", "unknown-opp"], "");
    let said = "shardc: no diagnostic has the code 'unknown-opp'; did you mean 'unknown-op'?\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), said));
}

#[test]
fn a_closed_output_is_no_error() {
    let mut text = String::from("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n");
    for _ in 0..20_000 {
        text.push_str(
            "  %0 = stablehlo.tanh %x : tensor<4xf32>\n".replace("%0", &format!("%v{}", text.len())).as_str(),
        );
    }
    text.push_str("  return %x : tensor<4xf32>\n}\n");
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("long.mlir");
    std::fs::write(&path, text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_shardc"))
        .arg("opt")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 8];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text_of(&output.stderr)), (Some(0), String::new()));
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the program on a terminal, and returns what it writes there.
fn on_a_terminal(args: &[&str]) -> String {
    let terminal = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let program = ["-c", terminal, env!("CARGO_BIN_EXE_shardc")];
    let output = Command::new("python3").args(program).args(args).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text_of(&output.stderr));
    text_of(&output.stdout)
}

#[test]
fn long_compiling_is_watched_on_a_terminal() {
    let mut program = String::from("sdy.mesh @mesh = <[\"x\"=8]>\nfunc.func @main(%v0: tensor<8x8xf32> ");
    program.push_str("{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> tensor<8x8xf32> {\n");
    // A program that takes at least a second.
    let count = if cfg!(debug_assertions) { 40_000 } else { 400_000 };
    for i in 0..count {
        program.push_str(&format!("  %v{} = stablehlo.tanh %v{i} : tensor<8x8xf32>\n", i + 1));
    }
    program.push_str(&format!("  return %v{count} : tensor<8x8xf32>\n}}\n"));
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("watched.mlir");
    std::fs::write(&path, program).unwrap();
    let path = path.to_str().unwrap();
    let said = on_a_terminal(&["compile", path, "-o", "/dev/null"]);
    assert!(said.contains(&format!("compiling {path}: ")), "{said}");
}

#[test]
fn the_last_line_is_json() {
    let output = shardc(&["opt", "--json", "-"], BAD);
    assert_eq!(output.status.code(), Some(1));
    let last = text(&output.stdout).lines().last().unwrap();
    let value: serde_json::Value = serde_json::from_str(last).unwrap();
    assert_eq!((&value["schema"], &value["ok"]), (&1.into(), &false.into()));
    assert_eq!((&value["diagnostics"][0]["line"], &value["diagnostics"][0]["column"]), (&2.into(), &10.into()));
}

#[test]
#[cfg(feature = "jit")]
fn kernels_are_cached_between_runs_unless_turned_off() {
    let folder = std::env::temp_dir().join(format!("shardc_run_{}", std::process::id()));
    let program = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = stablehlo.add %x, %x : tensor<4xf32>\n  \
                   return %y : tensor<4xf32>\n}\n";
    let run = |args: &[&str], folder: &std::path::Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardc"));
        command.args(["run", "-"]).args(args).env("SHARDC_CACHE", folder);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        output.stdout
    };
    let kept = || std::fs::read_dir(&folder).map_or(0, Iterator::count);
    let plain = run(&["--no-cache"], &folder);
    assert_eq!(kept(), 0);
    let told = text_of(&run(&["--compile-only", "--json"], &folder));
    let compiled: serde_json::Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!((&compiled["kernels"], kept()), (&1.into(), 1));
    let written =
        || std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.metadata().unwrap().modified().unwrap()).max();
    let when = written();
    assert_eq!((run(&[], &folder), kept()), (plain.clone(), 1));
    // The kernel was read from the cache, not compiled again.
    assert_eq!((run(&[], &folder), kept(), written()), (plain.clone(), 1, when));
    // A cache folder that can't be written is ignored.
    let file = std::fs::read_dir(&folder).unwrap().flatten().next().unwrap().path();
    assert_eq!(run(&[], &file), plain);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[cfg(feature = "jit")]
fn a_profile_adds_up_the_steps_of_an_op() {
    let program = r#"
func.func @main(%x: tensor<256x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<256x1024xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
"#;
    let output = shardc(&["run", "-", "--no-cache", "--profile", "--json"], program);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(text(&output.stdout).trim().lines().last().unwrap()).unwrap();
    let ops = told["profile"]["ops"].as_array().unwrap();
    let [sum] = &ops[..] else { panic!("one op: {told}") };
    assert_eq!((&sum["op"], sum["times"].as_f64()), (&"stablehlo.reduce".into(), Some(1.0)));
    assert!(sum["source"].as_str().unwrap().starts_with("<stdin>:4"));
    // The tensor, and the sums of 64 rows, written and read.
    let bytes = sum["bytes"].as_f64().unwrap();
    assert!((1_048_576.0..1_050_000.0).contains(&bytes), "{bytes}");
}

#[test]
#[cfg(feature = "jit")]
fn bytes_that_two_ops_of_a_kernel_read_count_once() {
    let program = r#"
func.func @main(%x: tensor<256x1024xf32>) -> (tensor<256x1024xf32>, tensor<256x1024xf32>) {
  %a = stablehlo.add %x, %x : tensor<256x1024xf32>
  %b = stablehlo.multiply %x, %x : tensor<256x1024xf32>
  return %a, %b : tensor<256x1024xf32>, tensor<256x1024xf32>
}
"#;
    let output = shardc(&["run", "-", "--no-cache", "--profile", "--json"], program);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(text(&output.stdout).trim().lines().last().unwrap()).unwrap();
    let ops = told["profile"]["ops"].as_array().unwrap();
    let [kernel] = &ops[..] else { panic!("one kernel: {told}") };
    assert_eq!((&kernel["op"], kernel["bytes"].as_f64()), (&"stablehlo.multiply".into(), Some(3.0 * 1_048_576.0)));
}

#[test]
#[cfg(feature = "jit")]
fn a_traced_run_says_what_every_device_did() {
    let folder = std::env::temp_dir().join(format!("shardc_trace_{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let trace = folder.join("run.json");
    let program = r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %y = stablehlo.add %x, %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
"#;
    let output =
        shardc(&["run", "-", "--no-cache", "--profile", "--json", "--trace", trace.to_str().unwrap()], program);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(text(&output.stdout).trim().lines().last().unwrap()).unwrap();
    let ops: Vec<&serde_json::Value> = told["profile"]["ops"].as_array().unwrap().iter().collect();
    let op = |name: &str| ops.iter().find(|op| op["op"] == name).unwrap_or_else(|| panic!("no {name}: {told}"));
    assert_eq!(
        (op("stablehlo.add")["times"].as_f64(), op("stablehlo.all_gather")["times"].as_f64()),
        (Some(1.0), Some(1.0))
    );
    // Four devices read and write two elements each.
    assert_eq!(op("stablehlo.add")["bytes"].as_f64(), Some(4.0 * 2.0 * 8.0));
    assert!(op("stablehlo.add")["source"].as_str().unwrap().starts_with("<stdin>:4"));
    assert!(op("stablehlo.all_gather")["bound_s"].as_f64().unwrap() > 0.0);
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    let events = written["traceEvents"].as_array().unwrap();
    let rows = events.iter().filter(|event| event["name"] == "thread_name").count();
    assert_eq!(rows, 8, "a row for the steps and one for the waits of each device");
    for device in 0..4u64 {
        let ran = |name: &str| {
            events.iter().filter(|e| e["name"] == name && e["tid"] == 2 * device && e["ph"] == "X").count()
        };
        assert_eq!((ran("stablehlo.add"), ran("stablehlo.all_gather")), (1, 1));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
