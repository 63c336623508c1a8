module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<8x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {?}, {?}]>}, %arg1: tensor<i32>) -> tensor<6x8x6x6xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %c, %c_0, %c_1, sizes = [4, 3, 3] : (tensor<8x6x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x3x3xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<8x6x6xf32>) -> tensor<16x6x3xf32>
    %2 = call @f0(%0, %arg0) : (tensor<4x3x3xf32>, tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
    %3 = stablehlo.exponential %2 : tensor<8x6x6xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_slice %arg0, %c_2, %c_3, %c_4, sizes = [8, 6, 6] : (tensor<8x6x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x6x6xf32>
    %5 = stablehlo.maximum %1, %1 : tensor<16x6x3xf32>
    %6 = call @f1(%4) : (tensor<8x6x6xf32>) -> tensor<2x4x2x144xf32>
    %7 = stablehlo.reshape %3 : (tensor<8x6x6xf32>) -> tensor<8x6x6x1xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.dynamic_slice %5, %c_5, %c_6, %c_7, sizes = [16, 6, 3] : (tensor<16x6x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<16x6x3xf32>
    %9 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<8x6x6xf32>) -> tensor<6x8x6x6xf32>
    return %9 : tensor<6x8x6x6xf32>
  }
  func.func private @f0(%arg0: tensor<4x3x3xf32>, %arg1: tensor<8x6x6xf32>) -> tensor<8x6x6xf32> {
    %0 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [1] : (tensor<8x6x6xf32>, tensor<8x6x6xf32>) -> tensor<8x6x8x6xf32>
    %1 = stablehlo.tanh %arg1 : tensor<8x6x6xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x6x6xf32>) -> tensor<288xf32>
    return %arg1 : tensor<8x6x6xf32>
  }
  func.func private @f1(%arg0: tensor<8x6x6xf32>) -> tensor<2x4x2x144xf32> {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [2] x [1] : (tensor<8x6x6xf32>, tensor<8x6x6xf32>) -> tensor<8x6x8x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<8x6x8x6xf32>) -> tensor<384x6x1x1xf32>
    %2 = stablehlo.reshape %1 : (tensor<384x6x1x1xf32>) -> tensor<2x4x2x144xf32>
    return %2 : tensor<2x4x2x144xf32>
  }
}

// expected
// 0 <@mesh, [{"y", "x":(1)2}, {}, {}]>
// 1 <@mesh, [{}, {"y"}, {}, {}]>
// 2 <@mesh, [{"y":(1)2}, {"y":(2)2, "x":(1)2}, {}, {}]>
// 3 <@mesh, [{}, {"y", "x":(1)2}, {}, {}]>
// 4 <@mesh, [{}, {}, {}]>
// 5 <@mesh, [{"y", "x":(1)2}, {}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   stablehlo.dynamic_slice -
//   func.call @f0 0
//   stablehlo.exponential 0
//   stablehlo.dynamic_slice 0
//   func.call @f1 2
//   stablehlo.broadcast_in_dim 3
//   func.return
// func f0
//   arg 0 4
//   arg 1 0
//   result 0 0
//   func.return
// func f1
//   arg 0 0
//   result 0 2
//   stablehlo.dot_general 5
//   stablehlo.reshape 5
//   stablehlo.reshape 2
//   func.return
