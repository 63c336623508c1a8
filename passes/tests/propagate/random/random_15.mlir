module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<2xf32>, %arg1: tensor<6x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, %arg2: tensor<i32>) -> (tensor<7x9xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<6x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg1, %cst, low = [0, 2], high = [1, 4], interior = [0, 0] : (tensor<6x3xf32>, tensor<f32>) -> tensor<7x9xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.case"(%c) ({
      %7 = stablehlo.add %1, %1 : tensor<7x9xf32>
      stablehlo.return %1 : tensor<7x9xf32>
    }, {
      %7 = stablehlo.reshape %1 : (tensor<7x9xf32>) -> tensor<1x63x1xf32>
      %8 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<6x3xf32>
      stablehlo.return %1 : tensor<7x9xf32>
    }) : (tensor<i32>) -> tensor<7x9xf32>
    %3 = stablehlo.transpose %2, dims = [0, 1] : (tensor<7x9xf32>) -> tensor<7x9xf32>
    %4 = stablehlo.add %3, %2 : tensor<7x9xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.pad %1, %cst_0, low = [0, 0], high = [4, 0], interior = [0, 0] : (tensor<7x9xf32>, tensor<f32>) -> tensor<11x9xf32>
    %6 = stablehlo.transpose %3, dims = [0, 1] : (tensor<7x9xf32>) -> tensor<7x9xf32>
    return %3, %arg0, %arg0 : tensor<7x9xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 -
//   result 1 -
//   result 2 -
//   stablehlo.pad -
//   stablehlo.case -
//     stablehlo.return
//     stablehlo.return
//   stablehlo.transpose -
//   func.return
