module @jit_local_attention attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<64x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %arg1: tensor<64x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %arg2: tensor<64x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<64x2x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<64x2x4xf32>) -> tensor<16x4x2x4xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<64x2x4xf32>) -> tensor<16x4x2x4xf32>
    %2 = stablehlo.reshape %arg2 : (tensor<64x2x4xf32>) -> tensor<16x4x2x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x4x2x4xf32>
    %4 = stablehlo.slice %1 [0:15, 0:4, 0:2, 0:4] : (tensor<16x4x2x4xf32>) -> tensor<15x4x2x4xf32>
    %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<1x4x2x4xf32>, tensor<15x4x2x4xf32>) -> tensor<16x4x2x4xf32>
    %6 = stablehlo.concatenate %5, %1, dim = 1 : (tensor<16x4x2x4xf32>, tensor<16x4x2x4xf32>) -> tensor<16x8x2x4xf32>
    %7 = stablehlo.dot_general %0, %6, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x4x2x4xf32>, tensor<16x8x2x4xf32>) -> tensor<16x2x4x8xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x2x4x8xf32>
    %9 = stablehlo.divide %7, %8 : tensor<16x2x4x8xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<16x2x4x8xf32>, tensor<f32>) -> tensor<16x2x4xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x2x4xf32>
    %12 = stablehlo.maximum %11, %10 : tensor<16x2x4xf32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2] : (tensor<16x2x4xf32>) -> tensor<16x2x4x1xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<16x2x4x1xf32>) -> tensor<16x2x4x8xf32>
    %15 = stablehlo.subtract %9, %14 : tensor<16x2x4x8xf32>
    %16 = stablehlo.exponential %15 : tensor<16x2x4x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<16x2x4x8xf32>, tensor<f32>) -> tensor<16x2x4xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<16x2x4xf32>) -> tensor<16x2x4x1xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<16x2x4x1xf32>) -> tensor<16x2x4x8xf32>
    %20 = stablehlo.divide %16, %19 : tensor<16x2x4x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x4x2x4xf32>
    %22 = stablehlo.slice %2 [0:15, 0:4, 0:2, 0:4] : (tensor<16x4x2x4xf32>) -> tensor<15x4x2x4xf32>
    %23 = stablehlo.concatenate %21, %22, dim = 0 : (tensor<1x4x2x4xf32>, tensor<15x4x2x4xf32>) -> tensor<16x4x2x4xf32>
    %24 = stablehlo.concatenate %23, %2, dim = 1 : (tensor<16x4x2x4xf32>, tensor<16x4x2x4xf32>) -> tensor<16x8x2x4xf32>
    %25 = stablehlo.dot_general %24, %20, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<16x8x2x4xf32>, tensor<16x2x4x8xf32>) -> tensor<16x2x4x4xf32>
    %26 = stablehlo.transpose %25, dims = [0, 3, 1, 2] : (tensor<16x2x4x4xf32>) -> tensor<16x4x2x4xf32>
    %27 = stablehlo.reshape %26 : (tensor<16x4x2x4xf32>) -> tensor<64x2x4xf32>
    return %27 : tensor<64x2x4xf32>
  }
}
