module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2x4x12xf32>, %arg1: tensor<2x4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", ?}, {?}]>}, %arg2: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}, {?}]>}, %arg3: tensor<i32>) -> (tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4x4xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<4x4x8xf32>
    %0 = stablehlo.add %cst, %cst : tensor<4x4x8xf32>
    %1 = call @f0(%0) : (tensor<4x4x8xf32>) -> tensor<4x4x8xf32>
    %2 = stablehlo.tanh %arg2 : tensor<4x4x8xf32>
    %3 = stablehlo.transpose %0, dims = [2, 1, 0] : (tensor<4x4x8xf32>) -> tensor<8x4x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_update_slice %3, %3, %c, %c_0, %arg3 : (tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x4xf32>
    %5 = stablehlo.reshape %2 : (tensor<4x4x8xf32>) -> tensor<1x4x4x8xf32>
    %6 = stablehlo.dot_general %4, %cst, contracting_dims = [1] x [0] : (tensor<8x4x4xf32>, tensor<4x4x8xf32>) -> tensor<8x4x4x8xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x12xf32>
    %8 = stablehlo.add %arg0, %7 : tensor<2x4x12xf32>
    %9 = stablehlo.add %8, %7 : tensor<2x4x12xf32>
    %10 = stablehlo.concatenate %8, %8, %7, dim = 0 : (tensor<2x4x12xf32>, tensor<2x4x12xf32>, tensor<2x4x12xf32>) -> tensor<6x4x12xf32>
    %11 = stablehlo.maximum %10, %10 : tensor<6x4x12xf32>
    %12 = stablehlo.slice %10 [4:6, 0:4, 0:12] : (tensor<6x4x12xf32>) -> tensor<2x4x12xf32>
    %13 = stablehlo.compare LT, %4, %3 : (tensor<8x4x4xf32>, tensor<8x4x4xf32>) -> tensor<8x4x4xi1>
    %14 = stablehlo.select %13, %4, %3 : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    return %14, %14, %4 : tensor<8x4x4xf32>, tensor<8x4x4xf32>, tensor<8x4x4xf32>
  }
  func.func private @f0(%arg0: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {}]>}) -> tensor<4x4x8xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4x4x8xf32>
    return %arg0 : tensor<4x4x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}, {}]>
// 1 <@mesh, [{"x"}, {}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 -
//   result 1 -
//   result 2 -
//   stablehlo.add -
//   stablehlo.transpose -
//   stablehlo.dynamic_update_slice -
//   stablehlo.compare -
//   stablehlo.select -
//   func.return
