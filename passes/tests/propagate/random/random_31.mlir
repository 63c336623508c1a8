module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<3x6xf32>, %arg1: tensor<i32>) -> (tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<3x6xf32>) {
    %0 = stablehlo.maximum %arg0, %arg0 : tensor<3x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reshape %arg0 : (tensor<3x6xf32>) -> tensor<18xf32>
    %3 = stablehlo.dot_general %0, %0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<6xf32>
    return %1, %arg0 : tensor<f32>, tensor<3x6xf32>
  }
}

// expected
// 0 <@mesh, []>
//
// func main
//   arg 0 -
//   arg 1 -
//   result 0 0
//   result 1 -
//   stablehlo.maximum -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   func.return
