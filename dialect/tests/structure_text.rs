//! Functions, calls, control flow and collectives print exactly as JAX prints them.

use dialect::diagnostic::Diagnostics;

/// `text` reads without a word and prints to itself.
fn prints_itself(text: &str) {
    let mut diagnostics = Diagnostics::default();
    let program = dialect::parse(text, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(dialect::print(&program), text);
}

#[test]
fn functions() {
    prints_itself(
        r#"module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<f32>) -> (tensor<4xi32> {jax.result_info = "result"}) attributes {execution_thread = "main"} {
    %0:2 = call @two(%arg0, %arg1) {no_inline} : (tensor<4xi32>, tensor<f32>) -> (tensor<4xi32>, tensor<f32>)
    return %0#0 : tensor<4xi32>
  }
  func.func private @two(%arg0: tensor<4xi32>, %arg1: tensor<f32>) -> (tensor<4xi32>, tensor<f32>) {
    return %arg0, %arg1 : tensor<4xi32>, tensor<f32>
  }
  func.func private @none() {
    return
  }
  func.func private @declared(tensor<f32> {a = 1 : i64}) -> tensor<f32>
}
"#,
    );
}

#[test]
fn loops_and_branches() {
    prints_itself(
        r#"module {
  func.func @main(%arg0: tensor<i32>, %arg1: tensor<i1>, %arg2: tensor<2xf32>) -> tensor<2xf32> {
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg2) : tensor<i32>, tensor<2xf32> attributes {a}
    cond {
      %3 = func.call @less(%iterArg) : (tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3:2 = stablehlo.optimization_barrier %iterArg, %iterArg_0 : tensor<i32>, tensor<2xf32>
      stablehlo.return %3#0, %3#1 : tensor<i32>, tensor<2xf32>
    }
    stablehlo.while()
    cond {
      stablehlo.return %arg1 : tensor<i1>
    } do {
      stablehlo.return
    }
    stablehlo.optimization_barrier ()
    %1 = "stablehlo.case"(%arg0) ({
      stablehlo.return %0#1 : tensor<2xf32>
    }, {
      stablehlo.return %arg2 : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    %2 = "stablehlo.if"(%arg1) ({
      stablehlo.return %1 : tensor<2xf32>
    }, {
      stablehlo.return %arg2 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %2 : tensor<2xf32>
  }
  func.func private @less(tensor<i32>) -> tensor<i1>
}
"#,
    );
}

#[test]
fn custom_calls_and_checks() {
    prints_itself(
        r#"module {
  func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @Sharding(%arg0) {api_version = 4 : i32, backend_config = "", mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<2xf32>) -> tensor<2xf32>
    %1:2 = stablehlo.custom_call @"odd name"() : () -> (tensor<2xf32>, tensor<i32>)
    stablehlo.custom_call @check.expect_eq(%0, %arg0) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    check.expect_eq %0, %arg0 : tensor<2xf32>
    check.expect_eq_const %0, dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    check.expect_almost_eq %0, %arg0, tolerance = 1.000000e-03 : tensor<2xf32>
    check.expect_almost_eq_const %0, dense<0.000000e+00> : tensor<2xf32>, tolerance = 1.000000e-02
    check.expect_close %0, %arg0, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<2xf32>, tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
"#,
    );
}

#[test]
fn collectives() {
    prints_itself(
        r#"module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<4x4xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.partition_id : tensor<ui32>
    %1 = stablehlo.replica_id : tensor<ui32>
    %2 = "stablehlo.all_to_all"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = "stablehlo.collective_permute"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
}
"#,
    );
}
