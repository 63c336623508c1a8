module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<12x2x12xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, %arg3: tensor<i32>) -> (tensor<8xf32>, tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, tensor<12x2x12xf32>) {
    %0 = stablehlo.reshape %arg2 : (tensor<8xf32>) -> tensor<2x1x4xf32>
    %1 = stablehlo.sine %arg2 : tensor<8xf32>
    %2 = "stablehlo.sort"(%arg2) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %10 = stablehlo.compare LT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    %3 = stablehlo.reverse %1, dims = [0] : tensor<8xf32>
    %4 = stablehlo.iota dim = 0 : tensor<8xf32>
    %5 = stablehlo.concatenate %3, %3, %3, dim = 0 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<24xf32>
    %6:2 = stablehlo.optimization_barrier %5, %2 : tensor<24xf32>, tensor<8xf32>
    %7 = sdy.manual_computation(%4) in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>] manual_axes={"x"} (%arg4: tensor<4xf32>) {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %10 = stablehlo.reduce(%arg4 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %11 = stablehlo.slice %arg4 [1:2] : (tensor<4xf32>) -> tensor<1xf32>
      %12 = stablehlo.maximum %11, %11 : tensor<1xf32>
      sdy.return %arg4 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %8 = stablehlo.reshape %6#1 : (tensor<8xf32>) -> tensor<8xf32>
    %9 = stablehlo.slice %8 [0:2] : (tensor<8xf32>) -> tensor<2xf32>
    return %8, %9, %arg0 : tensor<8xf32>, tensor<2xf32>, tensor<12x2x12xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}]>
// 1 <@mesh, [{}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 0
//   arg 3 -
//   result 0 -
//   result 1 1
//   result 2 -
//   stablehlo.sine 0
//   stablehlo.sort -
//     stablehlo.compare -
//     stablehlo.return
//   stablehlo.reverse 0
//   stablehlo.concatenate 0
//   stablehlo.optimization_barrier 0 1
//   stablehlo.reshape -
//   stablehlo.slice -
//   func.return
