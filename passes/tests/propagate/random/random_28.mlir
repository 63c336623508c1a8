module {
  sdy.mesh @mesh = <["x"=6]>
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p0, {?}p2]>}, %arg2: tensor<i32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
    %0 = stablehlo.add %arg1, %arg1 : tensor<4x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
      %6 = stablehlo.add %arg0, %5 : tensor<4x16xf32>
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %7 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<16xf32>
      stablehlo.return %arg0 : tensor<4x16xf32>
    }, {
      %5 = stablehlo.add %0, %0 : tensor<4x16xf32>
      stablehlo.return %5 : tensor<4x16xf32>
    }) : (tensor<i32>) -> tensor<4x16xf32>
    %2 = stablehlo.concatenate %1, %arg1, dim = 1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x32xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3 = "stablehlo.case"(%c_0) ({
      %5 = stablehlo.transpose %arg1, dims = [0, 1] : (tensor<4x16xf32>) -> tensor<4x16xf32>
      %6 = stablehlo.add %5, %0 : tensor<4x16xf32>
      %7 = stablehlo.dot_general %6, %arg1, contracting_dims = [0] x [0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<16x16xf32>
      stablehlo.return %5 : tensor<4x16xf32>
    }, {
      %5 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : tensor<4x16xf32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<4x16xf32>) -> tensor<4x16x2xf32>
      stablehlo.return %0 : tensor<4x16xf32>
    }) : (tensor<i32>) -> tensor<4x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %4 = stablehlo.add %arg0, %cst : tensor<4x16xf32>
    return %0, %4 : tensor<4x16xf32>, tensor<4x16xf32>
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
//   stablehlo.add -
//   stablehlo.add -
//   func.return
