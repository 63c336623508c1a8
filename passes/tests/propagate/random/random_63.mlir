module {
  sdy.mesh @mesh = <["x"=4, "y"=3]>
  func.func public @main(%arg0: tensor<3x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {?}]>}, %arg1: tensor<i32>) -> (tensor<3x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", ?}, {"x", ?}, {?}]>}, tensor<6x3x3xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<3x3x6xf32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = stablehlo.reshape %iterArg_0 : (tensor<3x3x6xf32>) -> tensor<54xf32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %c_3 = stablehlo.constant dense<0> : tensor<i32>
      %4 = stablehlo.dynamic_slice %iterArg_0, %c_1, %c_2, %c_3, sizes = [1, 1, 3] : (tensor<3x3x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x1x3xf32>
      %5 = "stablehlo.sort"(%3) <{dimension = 0 : i64, is_stable = false}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %7 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %7 : tensor<i1>
      }) : (tensor<54xf32>) -> tensor<54xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %6 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %6, %iterArg_0 : tensor<i32>, tensor<3x3x6xf32>
    }
    %1 = stablehlo.reshape %arg0 : (tensor<3x3x6xf32>) -> tensor<2x27xf32>
    %2 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<3x3x6xf32>) -> tensor<6x3x3xf32>
    return %0#1, %2 : tensor<3x3x6xf32>, tensor<6x3x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}, {}]>
// 1 <@mesh, [{"y"}, {}, {}]>
// 2 <@mesh, [{}, {}, {"y"}]>
// 3 <@mesh, []>
// 4 <@mesh, [{"y"}, {"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   result 1 2
//   stablehlo.while 3 4
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.transpose 2
//   func.return
