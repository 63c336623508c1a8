module {
  sdy.mesh @mesh = <["x"=8, "y"=8]>
  func.func public @main(%arg0: tensor<2x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %arg1: tensor<3xf32>, %arg2: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<i32>) -> (tensor<1x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(2)4}]>}, tensor<2x2x2xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg0, batching_dims = [2] x [2], contracting_dims = [1] x [1] : (tensor<2x8x2xf32>, tensor<2x8x2xf32>) -> tensor<2x2x2xf32>
    %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y", "x", ?}, {}]>]>} : tensor<2x2x2xf32>
    %2 = stablehlo.multiply %arg2, %arg2 : tensor<3xf32>
    %3 = stablehlo.slice %2 [0:3] : (tensor<3xf32>) -> tensor<3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%1 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x2x2xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.reverse %0, dims = [2] : tensor<2x2x2xf32>
    %6 = stablehlo.compare LT, %3, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %7 = stablehlo.select %6, %3, %arg1 : tensor<3xi1>, tensor<3xf32>
    %8 = stablehlo.multiply %4, %4 : tensor<f32>
    %9:2 = stablehlo.optimization_barrier %5, %8 : tensor<2x2x2xf32>, tensor<f32>
    %10 = stablehlo.reshape %3 : (tensor<3xf32>) -> tensor<1x3xf32>
    %11 = stablehlo.maximum %1, %0 : tensor<2x2x2xf32>
    return %10, %1 : tensor<1x3xf32>, tensor<2x2x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}, {}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{}, {}]>
// 3 <@mesh, [{}, {}, {}]>
// 4 <@mesh, [{}, {"y", "x"}, {}]>
// 5 <@mesh, [{"x":(2)4}]>
// 6 <@mesh, [{}, {"x":(2)4}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 -
//   result 0 2
//   result 1 3
//   stablehlo.dot_general 4
//   stablehlo.sine 4
//   stablehlo.multiply 5
//   stablehlo.slice 5
//   stablehlo.reshape 6
//   func.return
