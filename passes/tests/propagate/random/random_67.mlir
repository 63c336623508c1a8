module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<12x16xf32>, %arg1: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}]>}, %arg2: tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}, %arg3: tensor<12x16xf32>, %arg4: tensor<i32>) -> (tensor<16x12x6xf32>, tensor<2x4xf32>, tensor<16x12x6xf32>) {
    %0 = stablehlo.sine %arg1 : tensor<2x4xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<12x16xf32>, tensor<f32>) -> tensor<16xf32>
    %3 = stablehlo.transpose %arg2, dims = [0, 1] : (tensor<12x16xf32>) -> tensor<12x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.pad %1, %cst_0, low = [0, 2, 1], high = [0, 4, 0], interior = [0, 0, 0] : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x10x2xf32>
    %5 = stablehlo.transpose %arg3, dims = [1, 0] : (tensor<12x16xf32>) -> tensor<16x12xf32>
    %6 = stablehlo.multiply %5, %5 : tensor<16x12xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {}, {?}]>]>} : (tensor<16x12xf32>) -> tensor<16x12x6xf32>
    %8 = stablehlo.multiply %6, %5 : tensor<16x12xf32>
    %9 = stablehlo.tanh %7 : tensor<16x12x6xf32>
    %10 = sdy.manual_computation(%9) in_shardings=[<@mesh, [{?}, {"x"}, {}]>] out_shardings=[<@mesh, [{?}, {"x"}, {}]>] manual_axes={"x"} (%arg5: tensor<16x6x6xf32>) {
      %11 = sdy.sharding_constraint %arg5 <@mesh, [{}, {?}, {}]> : tensor<16x6x6xf32>
      %12 = stablehlo.tanh %arg5 : tensor<16x6x6xf32>
      %13 = stablehlo.multiply %12, %11 : tensor<16x6x6xf32>
      sdy.return %arg5 : tensor<16x6x6xf32>
    } : (tensor<16x12x6xf32>) -> tensor<16x12x6xf32>
    return %9, %0, %10 : tensor<16x12x6xf32>, tensor<2x4xf32>, tensor<16x12x6xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {"x"}]>
// 3 <@mesh, [{"x"}, {}, {}]>
// 4 <@mesh, [{}, {"x"}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 2
//   arg 4 -
//   result 0 3
//   result 1 0
//   result 2 4
//   stablehlo.sine 0
//   stablehlo.transpose 0
//   stablehlo.multiply 0
//   stablehlo.broadcast_in_dim 3
//   stablehlo.tanh 3
//   sdy.manual_computation 4 | 4
//     sdy.return
//   func.return
