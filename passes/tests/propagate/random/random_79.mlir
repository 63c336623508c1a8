module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<4x3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2, ?}, {}, {}]>}, %arg1: tensor<4x3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}, {}]>}, %arg2: tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}) {
    %0 = stablehlo.reverse %arg1, dims = [2] : tensor<4x3x8xf32>
    %1 = stablehlo.multiply %arg0, %arg1 : tensor<4x3x8xf32>
    %2 = stablehlo.multiply %0, %arg1 : tensor<4x3x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3 = "stablehlo.case"(%c) ({
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %12 = stablehlo.pad %0, %cst_2, low = [0, 2, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<4x3x8xf32>, tensor<f32>) -> tensor<4x5x8xf32>
      %13 = stablehlo.reshape %0 : (tensor<4x3x8xf32>) -> tensor<4x24xf32>
      %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<4x3x8xf32>
      %14 = stablehlo.add %arg1, %cst_3 : tensor<4x3x8xf32>
      stablehlo.return %14 : tensor<4x3x8xf32>
    }, {
      %12 = stablehlo.add %arg1, %arg1 : tensor<4x3x8xf32>
      stablehlo.return %arg1 : tensor<4x3x8xf32>
    }) : (tensor<i32>) -> tensor<4x3x8xf32>
    %4 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{?}, {?}, {"x", ?}]>] out_shardings=[<@mesh, [{?}, {?}, {"x", ?}]>] manual_axes={"x"} (%arg3: tensor<4x3x2xf32>) {
      %12 = stablehlo.transpose %arg3, dims = [0, 2, 1] : (tensor<4x3x2xf32>) -> tensor<4x2x3xf32>
      %13 = stablehlo.maximum %arg3, %arg3 : tensor<4x3x2xf32>
      sdy.return %13 : tensor<4x3x2xf32>
    } : (tensor<4x3x8xf32>) -> tensor<4x3x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3x8xf32>
    %6 = stablehlo.add %5, %5 : tensor<4x3x8xf32>
    %7 = stablehlo.add %4, %5 : tensor<4x3x8xf32>
    %8 = sdy.sharding_constraint %4 <@mesh, [{"x"}, {?}, {}]> : tensor<4x3x8xf32>
    %9 = stablehlo.transpose %2, dims = [2, 0, 1] : (tensor<4x3x8xf32>) -> tensor<8x4x3xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%6 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<4x3x8xf32>, tensor<f32>) -> tensor<4x3xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %11:2 = stablehlo.while(%iterArg = %c_1, %iterArg_2 = %10) : tensor<i32>, tensor<4x3xf32>
    cond {
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %12 = stablehlo.compare LT, %iterArg, %c_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %12 = stablehlo.slice %8 [0:1, 0:3, 0:8] : (tensor<4x3x8xf32>) -> tensor<1x3x8xf32>
      %13 = stablehlo.compare LT, %12, %12 : (tensor<1x3x8xf32>, tensor<1x3x8xf32>) -> tensor<1x3x8xi1>
      %14 = stablehlo.select %13, %12, %12 : tensor<1x3x8xi1>, tensor<1x3x8xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %15, %10 : tensor<i32>, tensor<4x3xf32>
    }
    return %10, %5, %10 : tensor<4x3xf32>, tensor<4x3x8xf32>, tensor<4x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{"x"}, {}, {}]>
// 2 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 -
//   result 1 1
//   result 2 2
//   stablehlo.broadcast_in_dim -
//   stablehlo.broadcast_in_dim 1
//   stablehlo.add -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   func.return
