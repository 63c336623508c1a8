module {
  sdy.mesh @mesh = <["x"=3, "y"=4]>
  func.func public @main(%arg0: tensor<8x2x3xf32>, %arg1: tensor<8x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}p0, {?}p0]>}, %arg2: tensor<8x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y":(1)2, ?}p3, {?}], replicated={"x"}>}, %arg3: tensor<8x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"y":(2)2}]>}, %arg4: tensor<i32>) -> (tensor<8x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p1, {}, {?}p1]>}) {
    %0 = stablehlo.reshape %arg2 : (tensor<8x2x3xf32>) -> tensor<8x1x2x3xf32>
    %1 = stablehlo.iota dim = 2 : tensor<8x2x3xf32>
    %2 = stablehlo.reshape %arg2 : (tensor<8x2x3xf32>) -> tensor<6x2x1x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %arg1, %c, %c_0, %c_1, sizes = [4, 1, 1] : (tensor<8x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x1x1xf32>
    %4 = stablehlo.tanh %1 : tensor<8x2x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x2x3xf32>, tensor<f32>) -> tensor<8x3xf32>
    %6 = stablehlo.dot_general %3, %3, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x1x1xf32>, tensor<4x1x1xf32>) -> tensor<4x1x1xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.dynamic_update_slice %4, %3, %arg4, %c_2, %c_3 : (tensor<8x2x3xf32>, tensor<4x1x1xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x2x3xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x1x1xf32>
    %9 = stablehlo.add %6, %8 : tensor<4x1x1xf32>
    %10 = stablehlo.transpose %9, dims = [1, 2, 0] : (tensor<4x1x1xf32>) -> tensor<1x1x4xf32>
    return %7 : tensor<8x2x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 0
//   arg 3 0
//   arg 4 -
//   result 0 0
//   stablehlo.iota -
//   stablehlo.dynamic_slice -
//   stablehlo.tanh -
//   stablehlo.dynamic_update_slice -
//   func.return
