module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["X"=4, "Y"=2]> {stablehlo.mesh = {axes = [{name = "X", size = 4 : i64}, {name = "Y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {}]>}) -> (tensor<16x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) {
    %0 = sdy.constant dense<2.000000e+00> : tensor<f32>
    %1 = sdy.reshard %arg0 <@mesh, [{}, {"Y"}]> : tensor<16x16xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"Y"}]>]>} : (tensor<f32>) -> tensor<16x16xf32>
    %3 = stablehlo.multiply %1, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"Y"}]>]>} : tensor<16x16xf32>
    return %3 : tensor<16x16xf32>
  }
}
