module {
  sdy.mesh @mesh = <["x"=3, "y"=2, "z"=4]>
  func.func public @main(%arg0: tensor<4x4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "z":(2)2, ?}, {"y"}, {?}]>}, %arg1: tensor<4x4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {}], replicated={"y"}>}, %arg2: tensor<i32>) -> tensor<2x4x4x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3] : (tensor<4x4x3xf32>) -> tensor<2x4x4x3xf32>
    %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{}, {"y"}, {?}, {?}]>] out_shardings=[<@mesh, [{}, {"y"}, {?}, {?}]>] manual_axes={"y"} (%arg3: tensor<2x2x4x3xf32>) {
      %5 = stablehlo.iota dim = 3 : tensor<2x2x4x3xf32>
      %6 = stablehlo.reshape %5 : (tensor<2x2x4x3xf32>) -> tensor<3x16xf32>
      %7 = "stablehlo.sort"(%arg3) <{dimension = 1 : i64, is_stable = false}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %9 = stablehlo.compare LT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      }) : (tensor<2x2x4x3xf32>) -> tensor<2x2x4x3xf32>
      %8 = stablehlo.reverse %7, dims = [0, 1, 2, 3] : tensor<2x2x4x3xf32>
      sdy.return %arg3 : tensor<2x2x4x3xf32>
    } : (tensor<2x4x4x3xf32>) -> tensor<2x4x4x3xf32>
    %2 = stablehlo.exponential %0 : tensor<2x4x4x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<2x4x4x3xf32>
    %3 = stablehlo.add %cst, %cst : tensor<2x4x4x3xf32>
    %4 = stablehlo.add %2, %cst : tensor<2x4x4x3xf32>
    return %1 : tensor<2x4x4x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}, {}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{}, {"y"}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 2
//   stablehlo.broadcast_in_dim 2
//   sdy.manual_computation 2 | 2
//     sdy.return
//   func.return
