module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8x2xf32>, %arg1: tensor<i32>) -> (tensor<2xf32>, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.case"(%c) ({
      %5 = stablehlo.dot_general %arg0, %arg0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2xf32>
      %6 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<8x2xf32>) -> tensor<8x2x2xf32>
      %7 = stablehlo.multiply %6, %6 : tensor<8x2x2xf32>
      stablehlo.return %arg0 : tensor<8x2xf32>
    }, {
      %5 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x8xf32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %6 = stablehlo.reduce(%5 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %arg0 : tensor<8x2xf32>
    }) : (tensor<i32>) -> tensor<8x2xf32>
    %1 = stablehlo.dot_general %0, %0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %3 = stablehlo.add %1, %2 : tensor<2xf32>
    %4 = stablehlo.add %2, %2 : tensor<2xf32>
    return %3, %1, %1 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   result 0 -
//   result 1 0
//   result 2 0
//   stablehlo.case -
//     stablehlo.return
//     stablehlo.return
//   stablehlo.dot_general -
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   func.return
