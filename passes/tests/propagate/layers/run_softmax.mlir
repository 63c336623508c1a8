module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4096x4096xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4096xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<4096xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<4096x1xf32>) -> tensor<4096x4096xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<4096x4096xf32>
    %6 = stablehlo.exponential %5 : tensor<4096x4096xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<4096xf32>) -> tensor<4096x1xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<4096x1xf32>) -> tensor<4096x4096xf32>
    %10 = stablehlo.divide %6, %9 : tensor<4096x4096xf32>
    return %10 : tensor<4096x4096xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {"y"}]>
// 1 <@mesh, [{"x"}]>
// 2 <@mesh, [{"x"}, {}]>
//
// func main
//   arg 0 0
//   result 0 0
//   stablehlo.reduce 1
//     stablehlo.maximum -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 1
//   stablehlo.maximum 1
//   stablehlo.broadcast_in_dim 2
//   stablehlo.broadcast_in_dim 0
//   stablehlo.subtract 0
//   stablehlo.exponential 0
//   stablehlo.reduce 1
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 2
//   stablehlo.broadcast_in_dim 0
//   stablehlo.divide 0
//   func.return
