module {
  sdy.mesh @mesh = <["x"=4, "y"=2]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<i32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.multiply %arg1, %arg1 : tensor<16xf32>
    %1 = stablehlo.negate %arg1 : tensor<16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.case"(%c) ({
      %6 = stablehlo.add %arg1, %arg1 : tensor<16xf32>
      %7 = stablehlo.maximum %1, %1 : tensor<16xf32>
      %8 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
      stablehlo.return %arg1 : tensor<16xf32>
    }, {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %6 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %arg1 : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    %3 = stablehlo.maximum %0, %0 : tensor<16xf32>
    %4 = stablehlo.slice %2 [0:16] : (tensor<16xf32>) -> tensor<16xf32>
    %5 = stablehlo.multiply %3, %1 : tensor<16xf32>
    return %5, %4 : tensor<16xf32>, tensor<16xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 -
//   result 1 -
//   stablehlo.multiply -
//   stablehlo.negate -
//   stablehlo.case -
//     stablehlo.return
//     stablehlo.return
//   stablehlo.maximum -
//   stablehlo.slice -
//   stablehlo.multiply -
//   func.return
