module {
  sdy.mesh @mesh = <["x"=8, "y"=2, "z"=4]>
  func.func public @main(%arg0: tensor<2x2x4xf32>, %arg1: tensor<2x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z", ?}, {"x", "y"}, {}]>}, %arg2: tensor<2x2x4xf32>, %arg3: tensor<i32>) -> (tensor<2x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {?}]>}, tensor<f32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg2 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x2x4xf32>
    %2 = stablehlo.add %arg2, %1 : tensor<2x2x4xf32>
    %3 = stablehlo.add %arg1, %1 : tensor<2x2x4xf32>
    %4 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<f32>
    return %2, %0 : tensor<2x2x4xf32>, tensor<f32>
  }
}

// expected
// 0 <@mesh, [{}, {"x":(1)2}, {}]>
// 1 <@mesh, [{}, {}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   arg 3 -
//   result 0 1
//   result 1 -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   func.return
