module @jit__lambda attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<64x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<8192x32768xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %arg2: tensor<32768x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> (tensor<64x8192xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x8192xf32>, tensor<8192x32768xf32>) -> tensor<64x32768xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<64x32768xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<64x32768xf32>
    %cst = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x32768xf32>
    %4 = stablehlo.multiply %3, %2 : tensor<64x32768xf32>
    %5 = stablehlo.add %0, %4 : tensor<64x32768xf32>
    %cst_0 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x32768xf32>
    %7 = stablehlo.multiply %6, %5 : tensor<64x32768xf32>
    %8 = stablehlo.tanh %7 : tensor<64x32768xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x32768xf32>
    %10 = stablehlo.add %9, %8 : tensor<64x32768xf32>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x32768xf32>
    %12 = stablehlo.multiply %11, %10 : tensor<64x32768xf32>
    %13 = stablehlo.multiply %0, %12 : tensor<64x32768xf32>
    %14 = stablehlo.dot_general %13, %arg2, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x32768xf32>, tensor<32768x8192xf32>) -> tensor<64x8192xf32>
    return %14 : tensor<64x8192xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}]>
// 1 <@mesh, [{"x"}, {"y"}]>
// 2 <@mesh, [{"y"}, {"x"}]>
// 3 <@mesh, [{}, {"y"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   result 0 0
//   stablehlo.dot_general 3
//   stablehlo.multiply 3
//   stablehlo.multiply 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.multiply 3
//   stablehlo.add 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.multiply 3
//   stablehlo.tanh 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.add 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.multiply 3
//   stablehlo.multiply 3
//   stablehlo.dot_general 0
//   func.return
