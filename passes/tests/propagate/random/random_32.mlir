module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {}]>}, %arg1: tensor<2x2x3xf32>, %arg2: tensor<i32>) -> (tensor<2x2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", ?}, {?}]>}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %1 = stablehlo.transpose %arg0, dims = [0, 1, 2] : (tensor<2x2x3xf32>) -> tensor<2x2x3xf32>
    %2 = stablehlo.transpose %1, dims = [2, 1, 0] : (tensor<2x2x3xf32>) -> tensor<3x2x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.pad %2, %cst, low = [1, 0, 1], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<3x2x2xf32>, tensor<f32>) -> tensor<5x2x3xf32>
    %4 = stablehlo.iota dim = 1 : tensor<2x2x3xf32>
    return %1 : tensor<2x2x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   result 0 0
//   stablehlo.transpose 0
//   func.return
