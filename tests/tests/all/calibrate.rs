//! `shardc calibrate` measures the machine that it runs on, and writes a file that `--target` reads.

use std::fs;
use std::path::Path;
#[cfg(feature = "jit")]
use std::process::Command;

use serde_json::Value;
use shardc_tests::command::shardc;
use shardc_tests::tools::scratch;
#[cfg(feature = "jit")]
use shardc_tests::{oracle, tools};

/// A product of halves, whose sum is on both devices: a per-device program, so that no plan depends on the target.
const PROGRAM: &str = r#"
module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32, shardc.meshes = {mesh = "<[\22x\22=2]>"}} {
  func.func @main(
      %a: tensor<64x64xf32> {shardc.global_type = tensor<64x128xf32>, shardc.sharding = "<@mesh, [{}, {\22x\22}]>"},
      %b: tensor<64x32xf32> {shardc.global_type = tensor<128x32xf32>, shardc.sharding = "<@mesh, [{\22x\22}, {}]>"})
      -> (tensor<64x32xf32> {shardc.global_type = tensor<64x32xf32>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = "stablehlo.all_reduce"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<64x32xf32>) -> tensor<64x32xf32>
    return %1 : tensor<64x32xf32>
  }
}"#;

fn cost(target: &Path) -> Value {
    shardc(&["cost", "-", "--json", "--target", &target.display().to_string()], PROGRAM).json()
}

/// Checks that all figures are positive and finite; returns the keys of those that were measured.
#[cfg(feature = "jit")]
fn measured(document: &Value) -> Vec<String> {
    let figures = document["figures"].as_array().expect("a list");
    for figure in figures {
        let value = figure["value"].as_f64().expect("a number");
        let key = figure["key"].as_str().expect("a key");
        // A start-up may be too short to measure.
        let may_be_zero = key.ends_with("latency");
        assert!(value.is_finite() && (value > 0.0 || may_be_zero && value == 0.0), "{figure}");
        assert!(!figure["how"].as_str().expect("words").is_empty(), "{figure}");
    }
    let measured = figures.iter().filter(|figure| figure["measured"] == true);
    measured.map(|figure| figure["key"].as_str().expect("a key").to_owned()).collect()
}

/// The text of a file, with its comments in one line each.
#[cfg(feature = "jit")]
fn joined(file: &Path) -> String {
    fs::read_to_string(file).expect("it was written").replace("\n# ", " ")
}

/// What every measurement of several devices finds.
#[cfg(feature = "jit")]
const FOUND: [&str; 10] = [
    "flat.bandwidth",
    "flat.flops",
    "flat.memory_bandwidth",
    "flat.memory_bytes",
    "flat.f32_flops",
    "flat.bf16_flops",
    "flat.collectives.all_gather.bandwidth",
    "flat.collectives.all_reduce.bandwidth",
    "flat.collectives.collective_permute.bandwidth",
    "flat.collectives.collective_broadcast.bandwidth",
];

#[test]
#[cfg(feature = "jit")]
fn a_second_of_measurements_gives_a_target() {
    let file = scratch("calibrate").join("here.toml");
    let path = file.display().to_string();
    let small = ["--devices", "2", "--seconds", "1", "--largest", "1MiB", "--no-cache"];
    let document = shardc(&[&["calibrate", "--name", "here", "-o", &path, "--json"], &small[..]].concat(), "").json();
    let found = measured(&document);
    for key in FOUND {
        assert!(found.iter().any(|found| found == key), "{key}: {document}");
    }
    let text = joined(&file);
    assert!(text.contains("shardc calibrate --devices 2 --seconds 1 --largest 1MiB"), "{text}");
    assert!(text.contains(": all_reduce of 4096 bytes to all_reduce of "), "{text}");
    assert!(text.contains(" bytes on 2 devices at once, "), "{text}");
    let cost = cost(&file);
    assert_eq!(cost["target"], "here");
    let value = |key: &str| {
        let figures = document["figures"].as_array().expect("a list");
        figures.iter().find(|f| f["key"] == key).and_then(|f| f["value"].as_f64()).unwrap_or_default()
    };
    // The product, the sum of its halves on both devices, and what a step takes; the file has four digits.
    let product = 2.0 * 64.0 * 64.0 * 32.0 / value("flat.f32_flops") + value("flat.product_latency");
    let bytes = 4.0 * f64::from(64 * 64 + 64 * 32 + 64 * 32);
    let near = bytes.min(value("flat.cache_bytes"));
    let memory = near / value("flat.cache_bandwidth").max(1.0) + (bytes - near) / value("flat.memory_bandwidth");
    let sent = f64::from(64 * 32 * 4) / value("flat.collectives.all_reduce.bandwidth");
    let sum = value("flat.collectives.all_reduce.latency") + sent;
    let step = product.max(memory) + value("flat.op_latency") + value("flat.step_latency") + sum;
    let modelled = cost["step_s"].as_f64().expect("seconds");
    assert!((modelled / step - 1.0).abs() < 5e-3, "{modelled} is not {step}");
}

#[test]
#[cfg(feature = "jit")]
#[cfg_attr(not(has = "mpi"), ignore = "run `make mpi`")]
fn processes_are_measured_together() {
    let file = scratch("calibrate_ranks").join("two.toml");
    let mut run = Command::new("mpirun");
    run.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]).arg(oracle::made("mpi"));
    run.args(["calibrate", "--devices", "4", "--seconds", "1", "--largest", "1MiB", "--no-cache", "--json", "-o"])
        .arg(&file);
    let said = tools::said(&tools::ok(&mut run));
    let line = said.lines().find(|line| line.starts_with('{')).expect("a document");
    let found = measured(&serde_json::from_str(line).expect("JSON"));
    for key in FOUND {
        assert!(found.iter().any(|found| found == key), "{key}: {line}");
    }
    let text = joined(&file);
    assert!(text.contains("on 4 devices at once in 2 processes"), "{text}");
    assert_eq!(cost(&file)["target"], "measured");
}

#[test]
fn measurements_of_other_programs_give_a_target() {
    let folder = scratch("calibrate_from");
    let (table, file) = (folder.join("table.txt"), folder.join("island.toml"));
    let rows: Vec<String> = [10, 14, 18, 22, 26, 30]
        .map(|power| {
            let size = f64::from(1u32 << power);
            let us = 1e6 * (2e-5 + size / 1e11);
            format!("{size:.0} {:.0} float sum -1 {us:.2} {:.2} {:.2} 0", size / 4.0, size / us / 1e3, size / us / 1e3)
        })
        .into();
    let heading =
        "# all_reduce_perf -g 2\n# Rank 0 on a\n# Rank 1 on a\n# size count type redop root time algbw busbw #wrong\n";
    fs::write(&table, heading.to_owned() + &rows.join("\n")).expect("a file");
    let [from, to] = [&table, &file].map(|path| path.display().to_string());
    shardc(&["calibrate", "--from", &from, "--like", "h100:2", "-o", &to], "").succeeded();
    let cost = cost(&file);
    let time = cost["collectives"][0]["time_s"].as_f64().expect("seconds");
    let expected = 2e-5 + f64::from(64 * 32 * 4) / 1e11;
    assert!((time / expected - 1.0).abs() < 2e-3, "{time} is not {expected}");
    let refused = |args: &[&str], says: &str| {
        let (code, text) = shardc(&[&["calibrate"], args].concat(), "").code_and_text();
        assert!(code != 0 && code != 101 && text.contains(says), "{code}: {text}");
    };
    refused(&["--from", &from, "--like", "v5e:4x4"], "has a topology");
    refused(&["--from", &from, "--name", "cpu"], "flat and cpu are reserved");
    refused(&["--from", &from, "--seconds", "1"], "cannot be used with");
    refused(&["--from", &folder.join("none").display().to_string()], "no such file");
    refused(&["--from", &to], "the format of these measurements is unknown");
    refused(&["--seconds", "0"], "from 0.1 to 86400");
    refused(&["--largest", "1"], "from 4KiB to 16GiB");
}
