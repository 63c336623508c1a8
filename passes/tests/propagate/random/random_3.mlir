module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<4x12xf32>, %arg3: tensor<4xf32>, %arg4: tensor<i32>) -> (tensor<4x1x1x3xf32>, tensor<4x4xf32>) {
    %0 = stablehlo.sine %arg2 : tensor<4x12xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %12 = stablehlo.sine %0 : tensor<4x12xf32>
      stablehlo.return %12 : tensor<4x12xf32>
    }, {
      %12 = sdy.sharding_constraint %0 <@mesh, [{?}, {}]> : tensor<4x12xf32>
      %13 = stablehlo.slice %0 [2:4, 0:12] : (tensor<4x12xf32>) -> tensor<2x12xf32>
      stablehlo.return %12 : tensor<4x12xf32>
    }) : (tensor<i32>) -> tensor<4x12xf32>
    %2 = stablehlo.multiply %arg3, %arg3 : tensor<4xf32>
    %3 = stablehlo.reshape %arg3 : (tensor<4xf32>) -> tensor<4x1x1x1xf32>
    %4 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.reshape %4 : (tensor<8x4xf32>) -> tensor<32xf32>
    %6 = stablehlo.compare LT, %4, %4 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
    %7 = stablehlo.select %6, %4, %4 : tensor<8x4xi1>, tensor<8x4xf32>
    %8 = stablehlo.concatenate %3, %3, %3, dim = 3 : (tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>) -> tensor<4x1x1x3xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.dynamic_slice %7, %c_0, %c_1, sizes = [4, 4] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x4xf32>
    %10 = stablehlo.exponential %8 : tensor<4x1x1x3xf32>
    %11 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<32xf32>) -> tensor<32x4xf32>
    return %10, %9 : tensor<4x1x1x3xf32>, tensor<4x4xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   arg 3 -
//   arg 4 -
//   result 0 -
//   result 1 -
//   stablehlo.reshape -
//   stablehlo.broadcast_in_dim -
//   stablehlo.compare -
//   stablehlo.select -
//   stablehlo.concatenate -
//   stablehlo.dynamic_slice -
//   stablehlo.exponential -
//   func.return
