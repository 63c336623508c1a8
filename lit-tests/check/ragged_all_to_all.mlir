// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Each device sends runs of rows to every other, as many as it says; all rows may go.
module @jit_ra2a attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<64x4xf32>, %arg1: tensor<64x4xf32>, %arg2: tensor<64xi32>, %arg3: tensor<64xi32>, %arg4: tensor<64xi32>, %arg5: tensor<64xi32>) -> (tensor<64x4xf32> {jax.result_info = "result"}) {
    %0 = sdy.manual_computation(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg6: tensor<8x4xf32>, %arg7: tensor<8x4xf32>, %arg8: tensor<8xi32>, %arg9: tensor<8xi32>, %arg10: tensor<8xi32>, %arg11: tensor<8xi32>) {
      %1 = stablehlo.custom_call @ragged_all_to_all(%arg6, %arg7, %arg8, %arg9, %arg10, %arg11) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> tensor<8x4xf32>
      sdy.return %1 : tensor<8x4xf32>
    } : (tensor<64x4xf32>, tensor<64x4xf32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi32>, tensor<64xi32>) -> tensor<64x4xf32>
    return %0 : tensor<64x4xf32>
  }
}
