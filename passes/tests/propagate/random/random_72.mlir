module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg2: tensor<8x4xf32>, %arg3: tensor<i32>) -> tensor<2x2xf32> {
    %0 = stablehlo.slice %arg1 [2:5, 0:12] : (tensor<6x12xf32>) -> tensor<3x12xf32>
    %1 = stablehlo.slice %0 [1:3, 9:11] : (tensor<3x12xf32>) -> tensor<2x2xf32>
    %2 = call @f0(%0) : (tensor<3x12xf32>) -> tensor<3x12xf32>
    %3 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {?}]> : tensor<3x12xf32>
    return %1 : tensor<2x2xf32>
  }
  func.func private @f0(%arg0: tensor<3x12xf32>) -> tensor<3x12xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<3x12xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x12xf32>) -> tensor<3x2x1x6xf32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<3x12xf32>) -> tensor<3x6x12xf32>
    return %arg0 : tensor<3x12xf32>
  }
}

// expected
// 0 <@mesh, [{"x":(1)2}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"x"}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   arg 3 -
//   result 0 1
//   stablehlo.slice 2
//   sdy.reshard 1
//   stablehlo.slice 2
//   func.call @f0 1
//   func.return
// func f0
//   arg 0 1
//   result 0 1
//   func.return
