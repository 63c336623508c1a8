module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<16x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {}]>}, %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<i32>) -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [1] x [1] : (tensor<16x4x16xf32>, tensor<16x4x16xf32>) -> tensor<16x16x16x16xf32>
    %1 = stablehlo.concatenate %0, %0, dim = 2 : (tensor<16x16x16x16xf32>, tensor<16x16x16x16xf32>) -> tensor<16x16x32x16xf32>
    %2 = stablehlo.iota dim = 0 : tensor<4x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x6xf32>
    %4 = stablehlo.add %3, %3 : tensor<4x6xf32>
    %5 = stablehlo.add %3, %3 : tensor<4x6xf32>
    %6 = "stablehlo.sort"(%5) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %7 = stablehlo.transpose %4, dims = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
    %8 = stablehlo.dot_general %4, %2, contracting_dims = [0] x [0] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
    %9 = stablehlo.add %7, %7 : tensor<6x4xf32>
    %10 = stablehlo.reverse %7, dims = [0, 1] : tensor<6x4xf32>
    %11 = stablehlo.maximum %8, %8 : tensor<6x6xf32>
    return %6 : tensor<4x6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 1
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   stablehlo.sort -
//     stablehlo.compare -
//     stablehlo.return
//   func.return
