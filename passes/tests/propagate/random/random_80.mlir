module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y", "x"}]>}, %arg1: tensor<16x4xf32>, %arg2: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg3: tensor<16x4xf32>, %arg4: tensor<i32>) -> (tensor<16x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {?}]>}, tensor<16x4x2xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1] : (tensor<16x4xf32>) -> tensor<16x4x2xf32>
    %2 = stablehlo.tanh %arg2 : tensor<16x4xf32>
    return %1, %1 : tensor<16x4x2xf32>, tensor<16x4x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 -
//   arg 4 -
//   result 0 2
//   result 1 -
//   stablehlo.broadcast_in_dim -
//   func.return
