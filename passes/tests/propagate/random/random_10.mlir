module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=4]>
  func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<4x2xf32>, %arg2: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"x"}>}, %arg4: tensor<i32>) -> (tensor<1x1x1x2xf32>, tensor<f32>) {
    %0 = call @f0(%arg0) : (tensor<4x2xf32>) -> tensor<2x2xf32>
    sdy.sharding_group %arg3 group_id=7 : tensor<2xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<2x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %3 = stablehlo.reshape %arg2 : (tensor<2xf32>) -> tensor<1x1x1x2xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{}, {}, {?}, {"y":(2)2}]> : tensor<1x1x1x2xf32>
    %5 = sdy.sharding_constraint %3 <@mesh, [{}, {?}, {}, {}]> : tensor<1x1x1x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.dynamic_slice %5, %c, %c_0, %c_1, %c_2, sizes = [1, 1, 1, 2] : (tensor<1x1x1x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x1x2xf32>
    %7 = "stablehlo.sort"(%4) <{dimension = 1 : i64, is_stable = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %9 = stablehlo.compare LT, %arg5, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<1x1x1x2xf32>) -> tensor<1x1x1x2xf32>
    %8 = stablehlo.reshape %4 : (tensor<1x1x1x2xf32>) -> tensor<2x1xf32>
    sdy.sharding_group %8 group_id=27 : tensor<2x1xf32>
    return %7, %2 : tensor<1x1x1x2xf32>, tensor<f32>
  }
  func.func private @f0(%arg0: tensor<4x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<4x2xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [0] x [0] : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.add %0, %arg0 : tensor<4x2xf32>
    %3 = stablehlo.tanh %0 : tensor<4x2xf32>
    return %1 : tensor<2x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{}, {}, {}, {}]>
// 3 <@mesh, [{}, {}, {}, {"y":(2)2}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 1
//   arg 4 -
//   result 0 2
//   result 1 -
//   func.call @f0 -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.reshape 3
//   sdy.reshard 3
//   stablehlo.sort 3
//     stablehlo.compare -
//     stablehlo.return
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   stablehlo.multiply -
//   stablehlo.dot_general -
//   func.return
