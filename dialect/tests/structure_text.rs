//! Tests that functions, calls, control flow and collectives print exactly as JAX prints them.

use shardc_dialect::diagnostic::Diagnostics;

/// Checks that `text` parses without diagnostics and prints to itself.
fn prints_itself(text: &str) {
    let mut diagnostics = Diagnostics::default();
    let program = shardc_dialect::parse(text, &mut diagnostics);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!(shardc_dialect::print(&program), text);
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

#[test]
fn shardy() {
    prints_itself(
        r#"module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]> {stablehlo.mesh = {axes = [{name = "a", size = 2 : i64}]}}
  sdy.mesh @order = <["a"=3, "b"=2], device_ids=[0, 2, 4, 1, 3, 5]>
  sdy.mesh @empty = <[]>
  sdy.mesh @maximal = <[], device_ids=[3]>
  func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8x8x8xf32>) -> tensor<8x8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"a"}, {?}]> : tensor<8x8xf32>
    %1 = sdy.reshard %0 <@mesh, [{"a"}p1, {"b":(1)2, ?}], replicated={"c"}> {x} : tensor<8x8xf32>
    %2 = sdy.constant dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf32>
    %3 = sdy.propagation_barrier %1 allowed_direction=BACKWARD : tensor<8x8xf32>
    sdy.sharding_group %3 group_id=21 : tensor<8x8xf32>
    %4 = sdy.data_flow_edge %3 sharding=<@mesh, [{"a", ?}, {?}]> : tensor<8x8xf32>
    %5 = sdy.data_flow_edge %4 : tensor<8x8xf32>
    %6 = sdy.func_data_flow_edge %5 : tensor<8x8xf32>
    %7:2 = sdy.manual_computation(%6, %arg0) in_shardings=[<@mesh, [{"a", ?}, {?}]>, <@mesh, [{}, {}], replicated={"a"}>] out_shardings=[<@mesh, [{?}, {?}], replicated={"a"}>, <@mesh, [{"a"}, {}]>] manual_axes={"a"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x8xf32>) {
      %19 = sdy.sharding_constraint %arg2 <@mesh, [{"b"}, {}]> : tensor<4x8xf32>
      sdy.return %arg3, %19 : tensor<8x8xf32>, tensor<4x8xf32>
    } : (tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } : () -> ()
    %8 = sdy.named_computation<"foo">(%7#0) in_shardings=[<@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] (%arg2: tensor<8x8xf32>) {
      sdy.return %arg2 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %9 = sdy.named_computation<"bar">(%8) (%arg2: tensor<8x8xf32>) {
      sdy.return %arg2 : tensor<8x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %10 = sdy.all_gather [{"b", "c"}, {}] %9 out_sharding=<@mesh, [{"a"}, {}]> : tensor<8x8xf32>
    %11 = sdy.all_slice [{"b"}, {}] %10 out_sharding=<@mesh, [{"a", "b"}, {}]> : tensor<8x8xf32>
    %12 = sdy.all_to_all [{"b"}: 0->2, {"c"}: 1->3] %arg1 out_sharding=<@mesh, [{}, {}, {"b"}, {"c"}]> : tensor<8x8x8x8xf32>
    %13 = sdy.collective_permute %11 out_sharding=<@mesh, [{"c":(1)2, "b"}, {"a"}]> : tensor<8x8xf32>
    %14 = sdy.all_reduce {"a"} %13 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %15 = sdy.all_reduce max {"a"} %14 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
    %16 = sdy.reduce_scatter [{"a"}, {}] %15 out_sharding=<@mesh, [{"a"}, {}]> : tensor<8x8xf32>
    %17 = sdy.replicated_to_unreduced {"a", "c"} %16 out_sharding=<@mesh, [{}, {}], unreduced={"a", "c"}> : tensor<8x8xf32>
    %18 = sdy.sharded_to_unreduced [{"b", "c"}, {}] %17 out_sharding=<@mesh, [{}, {}], unreduced={"b", "c"}> : tensor<8x8xf32>
    return %18 : tensor<8x8xf32>
  }
}
"#,
    );
}
