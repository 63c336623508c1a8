module {
  sdy.mesh @mesh = <["x"=4, "y"=3]>
  func.func public @main(%arg0: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}, %arg1: tensor<i32>) -> tensor<16x3xf32> {
    %0 = stablehlo.maximum %arg0, %arg0 : tensor<16x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %3 = stablehlo.dynamic_update_slice %arg0, %arg0, %c_0, %c_1 : (tensor<16x3xf32>, tensor<16x3xf32>, tensor<i32>, tensor<i32>) -> tensor<16x3xf32>
      stablehlo.return %arg0 : tensor<16x3xf32>
    }, {
      %3 = sdy.propagation_barrier %arg0 allowed_direction=FORWARD : tensor<16x3xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x3xf32>
      %5 = stablehlo.add %0, %4 : tensor<16x3xf32>
      stablehlo.return %0 : tensor<16x3xf32>
    }) : (tensor<i32>) -> tensor<16x3xf32>
    %2 = stablehlo.concatenate %arg0, %0, dim = 1 : (tensor<16x3xf32>, tensor<16x3xf32>) -> tensor<16x6xf32>
    return %0 : tensor<16x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   stablehlo.maximum -
//   func.return
