module {
  sdy.mesh @mesh = <["x"=2, "y"=6]>
  func.func public @main(%arg0: tensor<8x6xf32>, %arg1: tensor<i32>) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y"}]>}, tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}], replicated={"y"}>}, tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}) {
    %0:2 = stablehlo.optimization_barrier %arg0, %arg0 : tensor<8x6xf32>, tensor<8x6xf32>
    %1 = stablehlo.add %arg0, %arg0 : tensor<8x6xf32>
    %2 = call @f0(%0#0, %arg0) : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x3x2x1xf32>
    %3 = "stablehlo.sort"(%1) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %11 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%0#1 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.compare LT, %3, %0#1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xi1>
    %6 = stablehlo.select %5, %3, %0#1 : tensor<8x6xi1>, tensor<8x6xf32>
    sdy.sharding_group %4 group_id=23 : tensor<8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %7 = "stablehlo.case"(%c) ({
      %11 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<8x3x2x1xf32>) -> tensor<8x3x2x4xf32>
      %12 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {?}, {"y"}]>]>} : (tensor<8x3x2x1xf32>) -> tensor<8x3x2x4xf32>
      stablehlo.return %1 : tensor<8x6xf32>
    }, {
      %11 = stablehlo.reshape %0#0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}, {?}]>]>} : (tensor<8x6xf32>) -> tensor<12x4x1xf32>
      %12 = stablehlo.multiply %0#0, %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}]>]>} : tensor<8x6xf32>
      %13 = stablehlo.iota dim = 1 : tensor<8x6xf32>
      stablehlo.return %12 : tensor<8x6xf32>
    }) : (tensor<i32>) -> tensor<8x6xf32>
    %8 = stablehlo.iota dim = 0 : tensor<8x6xf32>
    %9 = sdy.propagation_barrier %7 allowed_direction=FORWARD : tensor<8x6xf32>
    %10 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<8x3x2x1xf32>) -> tensor<8x3x2x4xf32>
    return %7, %7, %7 : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
  }
  func.func private @f0(%arg0: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y", ?}]>}, %arg1: tensor<8x6xf32>) -> tensor<8x3x2x1xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<8x6xf32>) -> tensor<8x3x2x1xf32>
    %1 = stablehlo.negate %arg0 : tensor<8x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %arg1, %cst, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<8x7xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.pad %0, %cst_0, low = [0, 0, 1, 2], high = [4, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<8x3x2x1xf32>, tensor<f32>) -> tensor<12x4x4x3xf32>
    return %0 : tensor<8x3x2x1xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {"y"}]>
// 1 <@mesh, [{"x"}, {}]>
// 2 <@mesh, [{"x"}, {"y":(1)3}, {"y":(3)2}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   result 1 1
//   result 2 1
//   stablehlo.optimization_barrier 0 0
//   stablehlo.add 0
//   func.call @f0 2
//   stablehlo.sort 0
//     stablehlo.compare -
//     stablehlo.return
//   stablehlo.case 0
//     stablehlo.return
//     stablehlo.multiply 1
//     stablehlo.return
//   func.return
// func f0
//   arg 0 0
//   arg 1 0
//   result 0 2
//   stablehlo.reshape 2
//   func.return
