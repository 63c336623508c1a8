//! The JSON documents of `cost` and `run --repeat` have exactly the fields that scripts rely on; browsers can draw the
//! page of `report`.

mod page;

use serde_json::{Value, json};
use shardc_tests::command::shardc;
use shardc_tests::corpus::sample;
use shardc_tests::sharded::BACKEND_FLAGS;

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn cost_prints_json_with_the_documented_fields() {
    let program = sample("train_2d").text;
    for target in ["flat", "v5e:4x2"] {
        let cost = shardc(&["cost", "--json", "--target", target, "-"], &program).json();
        let expected = [
            "schema",
            "target",
            "devices",
            "compute_s",
            "communication_s",
            "exposed_s",
            "step_s",
            "peak_bytes",
            "flops",
            "collectives",
        ];
        assert_eq!(keys(&cost), expected);
        assert_eq!((&cost["schema"], &cost["target"], &cost["devices"]), (&1.into(), &target.into(), &8.into()));
        let seconds = |key: &str| cost[key].as_f64().unwrap_or_else(|| panic!("{key} is no number"));
        assert!(seconds("step_s") > 0.0 && seconds("compute_s") > 0.0 && seconds("flops") > 0.0);
        assert!(seconds("exposed_s") <= seconds("communication_s") * (1.0 + 1e-9));
        assert!(cost["peak_bytes"].is_u64());
        let collectives = cost["collectives"].as_array().expect("a list");
        assert!(!collectives.is_empty());
        let mut communication = 0.0;
        for c in collectives {
            let expected = ["kind", "axes", "dim", "operand_bytes", "result_bytes", "group", "time_s", "count", "loc"];
            assert_eq!(keys(c), expected);
            assert!(c["kind"].is_string() && c["axes"].is_array() && c["operand_bytes"].is_u64(), "{c}");
            assert!(c["result_bytes"].is_u64() && c["group"].is_u64() && c["count"].is_u64(), "{c}");
            communication += c["time_s"].as_f64().expect("seconds") * c["count"].as_f64().expect("a number");
        }
        assert!((communication - seconds("communication_s")).abs() <= 1e-9 * communication);
    }
}

/// Computed by hand: 4 devices gather 4 MiB, of which three quarters come from the others, at 90 GB/s after a
/// microsecond.
#[test]
fn a_collective_in_a_loop_counts_as_often_as_it_runs() {
    let program = r#"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x262144xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x262144xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4x262144xf32>
  cond {
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %p = sdy.sharding_constraint %x <@mesh, [{}, {}]> : tensor<4x262144xf32>
    %r = stablehlo.sine %p : tensor<4x262144xf32>
    %t = sdy.sharding_constraint %r <@mesh, [{"x"}, {}]> : tensor<4x262144xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %t : tensor<i32>, tensor<4x262144xf32>
  }
  return %0#1 : tensor<4x262144xf32>
}"#;
    let cost = shardc(&["cost", "--json", "-"], program).json();
    let [gather] = &cost["collectives"].as_array().expect("a list")[..] else { panic!("{cost}") };
    let seconds = 1e-6 + 0.75 * f64::from(4 << 20) / 90e9;
    assert!((gather["time_s"].as_f64().expect("seconds") - seconds).abs() < 1e-15, "{gather}");
    assert_eq!(
        (&gather["kind"], &gather["axes"], &gather["dim"]),
        (&"all_gather".into(), &serde_json::json!(["x"]), &0.into())
    );
    assert_eq!((&gather["operand_bytes"], &gather["result_bytes"]), (&(1 << 20).into(), &(4 << 20).into()));
    assert_eq!((&gather["group"], &gather["count"]), (&4.into(), &5.into()));
    assert!((cost["communication_s"].as_f64().expect("seconds") - 5.0 * seconds).abs() < 1e-12);
}

#[test]
fn show_and_run_print_json_with_the_documented_fields() {
    let program = "sdy.mesh @mesh = <[\"x\"=4]>
        func.func @main(%a: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}, %n: tensor<i32>) -> tensor<i32> {
          return %n : tensor<i32>
        }";
    let shown = shardc(&["show", "--json", "--after", "none", "-"], program).json();
    let sharding = "<@mesh, [{\"x\"}, {}]>";
    let a = json!({"name": "%a", "type": "tensor<6x2xf32>", "sharding": sharding, "shard": [2, 2], "shard_bytes": 16});
    let none =
        |name| json!({"name": name, "type": "tensor<i32>", "sharding": null, "shard": null, "shard_bytes": null});
    assert_eq!(shown["meshes"], json!([{"name": "mesh", "axes": [["x", 4]], "devices": 4}]));
    assert_eq!(shown["values"], json!([a, none("%n"), none("result 0")]));
    let ran = shardc(&["run", "--interpret", "--json", "-"], program).json();
    assert_eq!(keys(&ran), ["schema", "results"]);
    assert_eq!((&ran["results"][0]["name"], &ran["results"][0]["type"]), (&"result 0".into(), &"tensor<i32>".into()));
}

#[test]
fn repeated_runs_report_their_times_and_memory() {
    let program = sample("tpu_matmul_square").text;
    for how in BACKEND_FLAGS {
        let small = sample("intro_elementwise").text;
        let program = if how.is_empty() { &program } else { &small };
        let run = shardc(&[&["run", "--repeat", "3", "--json", "-"], *how].concat(), program).json();
        let expected = ["schema", "compile_s", "calls", "median_s", "min_s", "peak_bytes", "modelled_peak_bytes"];
        assert_eq!(keys(&run), [&expected[..], &["arena_bytes", "results"]].concat());
        assert!(run["modelled_peak_bytes"].as_u64().is_some_and(|b| b > 0), "{run}");
        assert_eq!((&run["schema"], &run["calls"]), (&1.into(), &3.into()));
        let seconds = |key: &str| run[key].as_f64().unwrap_or_else(|| panic!("{key} is no number"));
        assert!(0.0 < seconds("min_s") && seconds("min_s") <= seconds("median_s"), "{run}");
        if how.is_empty() {
            assert!(seconds("compile_s") > 0.0 && run["peak_bytes"].as_u64().is_some_and(|b| b > 0), "{run}");
        }
    }
}
