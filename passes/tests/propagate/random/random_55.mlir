module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<i32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.tanh %arg0 : tensor<8x3xf32>
    %2 = stablehlo.multiply %0, %0 : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x3xf32>, tensor<f32>) -> tensor<f32>
    %4 = stablehlo.dot_general %arg0, %arg0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<3xf32>
    %5 = stablehlo.compare LT, %3, %0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %6 = stablehlo.select %5, %3, %0 : tensor<i1>, tensor<f32>
    %7 = stablehlo.reshape %arg0 : (tensor<8x3xf32>) -> tensor<1x4x6xf32>
    %8 = stablehlo.multiply %7, %7 : tensor<1x4x6xf32>
    %9 = stablehlo.reshape %8 : (tensor<1x4x6xf32>) -> tensor<1x24x1x1xf32>
    return %4, %4 : tensor<3xf32>, tensor<3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   result 1 -
//   stablehlo.dot_general -
//   func.return
