module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<8x3xf32>, %arg1: tensor<4x16x4xf32>, %arg2: tensor<4x12xf32>, %arg3: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, %arg4: tensor<i32>) -> (tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, tensor<4x12xf32>) {
    %0 = stablehlo.reshape %arg3 : (tensor<4x12xf32>) -> tensor<4x12x1xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x12xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<4x12x1xf32>
    return %arg3, %arg2 : tensor<4x12xf32>, tensor<4x12xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 -
//   arg 3 0
//   arg 4 -
//   result 0 0
//   result 1 -
//   func.return
