module @jit_joins attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<32x3xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x3xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<16x3xf32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.concatenate %arg0, %arg1, dim = 0 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<32x3xf32>
    %1 = stablehlo.reverse %0, dims = [0] : tensor<32x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = call @_pad(%arg0, %c) : (tensor<16x3xf32>, tensor<i32>) -> tensor<24x3xf32>
    %3 = stablehlo.slice %2 [8:24, 0:3] : (tensor<24x3xf32>) -> tensor<16x3xf32>
    %4 = stablehlo.reverse %arg0, dims = [0] : tensor<16x3xf32>
    %5 = stablehlo.add %4, %arg0 : tensor<16x3xf32>
    return %1, %3, %5 : tensor<32x3xf32>, tensor<16x3xf32>, tensor<16x3xf32>
  }
  func.func private @_pad(%arg0: tensor<16x3xf32>, %arg1: tensor<i32>) -> tensor<24x3xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [5, 0], high = [3, 0], interior = [0, 0] : (tensor<16x3xf32>, tensor<f32>) -> tensor<24x3xf32>
    return %1 : tensor<24x3xf32>
  }
}
