module {
  sdy.mesh @mesh = <["x"=8, "y"=4, "z"=3]>
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<i32>) -> (tensor<2x8x1x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {?}, {}]>}) {
    %0 = stablehlo.negate %arg0 : tensor<4x16xf32>
    %1 = stablehlo.maximum %0, %arg0 : tensor<4x16xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<4x16xf32>) -> tensor<2x8x1x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %4 = stablehlo.reshape %2 : (tensor<2x8x1x4xf32>) -> tensor<2x32xf32>
    %5 = stablehlo.dot_general %2, %arg0, contracting_dims = [3] x [0] : (tensor<2x8x1x4xf32>, tensor<4x16xf32>) -> tensor<2x8x1x16xf32>
    %6 = stablehlo.add %2, %2 : tensor<2x8x1x4xf32>
    %7 = stablehlo.reshape %5 : (tensor<2x8x1x16xf32>) -> tensor<256xf32>
    %8 = call @f0(%0, %7) : (tensor<4x16xf32>, tensor<256xf32>) -> tensor<f32>
    %9 = stablehlo.add %6, %6 : tensor<2x8x1x4xf32>
    return %6 : tensor<2x8x1x4xf32>
  }
  func.func private @f0(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y", ?}, {}]>}, %arg1: tensor<256xf32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
    return %0 : tensor<f32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"y":(1)2}, {}, {}, {}]>
// 2 <@mesh, [{"x", "y"}, {}]>
// 3 <@mesh, [{"x":(1)4}, {}]>
// 4 <@mesh, [{"x":(1)2}, {"x":(2)2}, {}, {}]>
// 5 <@mesh, [{"y"}, {"x":(2)2}, {}, {}]>
// 6 <@mesh, [{"x":(1)4}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   stablehlo.negate 2
//   sdy.reshard 3
//   stablehlo.reshape 4
//   stablehlo.dot_general 4
//   stablehlo.add 5
//   stablehlo.reshape 6
//   func.call @f0 -
//   func.return
// func f0
//   arg 0 3
//   arg 1 6
//   result 0 -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   func.return
