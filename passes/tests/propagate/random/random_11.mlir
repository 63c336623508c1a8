module {
  sdy.mesh @mesh = <["x"=8, "y"=4]>
  func.func public @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<16xf32>, %arg3: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg4: tensor<i32>) -> (tensor<2x3xf32>, tensor<4x16xf32>, tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<4x16xf32>
    %2 = stablehlo.add %arg0, %0 : tensor<4x16xf32>
    %3 = stablehlo.sine %arg3 : tensor<2x3xf32>
    %4 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x16xf32>) -> tensor<4x16x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = "stablehlo.case"(%c) ({
      %8 = stablehlo.add %4, %4 : tensor<4x16x2xf32>
      stablehlo.return %4 : tensor<4x16x2xf32>
    }, {
      %8 = stablehlo.broadcast_in_dim %4, dims = [0, 2, 3] : (tensor<4x16x2xf32>) -> tensor<4x8x16x2xf32>
      %9 = stablehlo.concatenate %4, %4, dim = 0 : (tensor<4x16x2xf32>, tensor<4x16x2xf32>) -> tensor<8x16x2xf32>
      %10 = stablehlo.broadcast_in_dim %4, dims = [1, 2, 3] : (tensor<4x16x2xf32>) -> tensor<2x4x16x2xf32>
      stablehlo.return %4 : tensor<4x16x2xf32>
    }) : (tensor<i32>) -> tensor<4x16x2xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{?}, {}, {"x", "y"}]> : tensor<4x16x2xf32>
    %7 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %8 = stablehlo.compare LT, %arg5, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    }) : (tensor<4x16x2xf32>) -> tensor<4x16x2xf32>
    return %arg3, %2, %3 : tensor<2x3xf32>, tensor<4x16xf32>, tensor<2x3xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   arg 3 1
//   arg 4 -
//   result 0 -
//   result 1 -
//   result 2 1
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   stablehlo.sine -
//   func.return
