module {
  sdy.mesh @mesh = <["x"=6]>
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<8x8xf32>) -> tensor<1x8x8xf32>
    %1 = stablehlo.slice %arg0 [3:6, 1:4] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x8xf32>) -> tensor<3x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x8x8xf32>
    %3 = stablehlo.add %2, %2 : tensor<1x8x8xf32>
    %4 = stablehlo.add %0, %2 : tensor<1x8x8xf32>
    %5 = stablehlo.multiply %1, %1 : tensor<3x3xf32>
    return %arg0 : tensor<8x8xf32>
  }
}

// expected
//
// func main
//   arg 0 -
//   arg 1 -
//   result 0 -
//   func.return
