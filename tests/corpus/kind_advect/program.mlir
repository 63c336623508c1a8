module @jit_advect attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<12x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %0 = call @_roll_static(%arg0) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %1 = call @_roll_static_0(%arg0) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %2 = stablehlo.subtract %0, %1 : tensor<12x16xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<12x16xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<12x16xf32>
    %6 = call @_roll_static_1(%arg0) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %7 = stablehlo.subtract %6, %arg0 : tensor<12x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %9 = stablehlo.multiply %8, %7 : tensor<12x16xf32>
    %10 = stablehlo.add %5, %9 : tensor<12x16xf32>
    %11 = call @_roll_static(%10) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %12 = call @_roll_static_0(%10) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %13 = stablehlo.subtract %11, %12 : tensor<12x16xf32>
    %cst_1 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %15 = stablehlo.multiply %14, %13 : tensor<12x16xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<12x16xf32>
    %17 = call @_roll_static_1(%10) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %18 = stablehlo.subtract %17, %10 : tensor<12x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %20 = stablehlo.multiply %19, %18 : tensor<12x16xf32>
    %21 = stablehlo.add %16, %20 : tensor<12x16xf32>
    %22 = call @_roll_static(%21) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %23 = call @_roll_static_0(%21) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %24 = stablehlo.subtract %22, %23 : tensor<12x16xf32>
    %cst_3 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %26 = stablehlo.multiply %25, %24 : tensor<12x16xf32>
    %27 = stablehlo.subtract %21, %26 : tensor<12x16xf32>
    %28 = call @_roll_static_1(%21) : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %29 = stablehlo.subtract %28, %21 : tensor<12x16xf32>
    %cst_4 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<12x16xf32>
    %31 = stablehlo.multiply %30, %29 : tensor<12x16xf32>
    %32 = stablehlo.add %27, %31 : tensor<12x16xf32>
    return %32 : tensor<12x16xf32>
  }
  func.func private @_roll_static(%arg0: tensor<12x16xf32>) -> tensor<12x16xf32> {
    %0 = stablehlo.slice %arg0 [11:12, 0:16] : (tensor<12x16xf32>) -> tensor<1x16xf32>
    %1 = stablehlo.slice %arg0 [0:11, 0:16] : (tensor<12x16xf32>) -> tensor<11x16xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x16xf32>, tensor<11x16xf32>) -> tensor<12x16xf32>
    return %2 : tensor<12x16xf32>
  }
  func.func private @_roll_static_0(%arg0: tensor<12x16xf32>) -> tensor<12x16xf32> {
    %0 = stablehlo.slice %arg0 [1:12, 0:16] : (tensor<12x16xf32>) -> tensor<11x16xf32>
    %1 = stablehlo.slice %arg0 [0:1, 0:16] : (tensor<12x16xf32>) -> tensor<1x16xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<11x16xf32>, tensor<1x16xf32>) -> tensor<12x16xf32>
    return %2 : tensor<12x16xf32>
  }
  func.func private @_roll_static_1(%arg0: tensor<12x16xf32>) -> tensor<12x16xf32> {
    %0 = stablehlo.slice %arg0 [0:12, 13:16] : (tensor<12x16xf32>) -> tensor<12x3xf32>
    %1 = stablehlo.slice %arg0 [0:12, 0:13] : (tensor<12x16xf32>) -> tensor<12x13xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<12x3xf32>, tensor<12x13xf32>) -> tensor<12x16xf32>
    return %2 : tensor<12x16xf32>
  }
}
