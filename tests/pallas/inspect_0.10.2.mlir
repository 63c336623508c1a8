module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x128xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @InspectSharding(%arg0) {backend_config = "\10\05\0A\C9\D0\7F\00\00`W\80\AD\D0\7F\00\00", has_side_effect = true} : (tensor<64x128xf32>) -> tensor<64x128xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x128xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<64x128xf32>
    return %2 : tensor<64x128xf32>
  }
}
