module {
  sdy.mesh @mesh = <["x"=3, "y"=2]>
  func.func public @main(%arg0: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}, %arg1: tensor<i32>) -> tensor<16x6xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<16x6xf32>
    %1 = stablehlo.add %0, %arg0 : tensor<16x6xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"y"}, {?}]>] out_shardings=[<@mesh, [{"y"}, {?}]>] manual_axes={"y"} (%arg2: tensor<8x6xf32>) {
      %8 = "stablehlo.sort"(%arg2) <{dimension = 1 : i64, is_stable = false}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %9 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %9 : tensor<i1>
      }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
      sdy.return %arg2 : tensor<8x6xf32>
    } : (tensor<16x6xf32>) -> tensor<16x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16x6xf32>, tensor<f32>) -> tensor<6xf32>
    %4 = stablehlo.reshape %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xf32>) -> tensor<6xf32>
    %5 = stablehlo.slice %4 [0:6] : (tensor<6xf32>) -> tensor<6xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.dynamic_update_slice %4, %3, %c : (tensor<6xf32>, tensor<6xf32>, tensor<i32>) -> tensor<6xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %7:3 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %3, %iterArg_2 = %1) : tensor<i32>, tensor<6xf32>, tensor<16x6xf32>
    cond {
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %8 = stablehlo.compare LT, %iterArg, %c_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %8 = stablehlo.add %iterArg_2, %iterArg_2 : tensor<16x6xf32>
      %9 = stablehlo.sine %iterArg_2 : tensor<16x6xf32>
      %10 = stablehlo.slice %8 [0:16, 0:6] : (tensor<16x6xf32>) -> tensor<16x6xf32>
      %11 = stablehlo.multiply %9, %9 : tensor<16x6xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %12, %3, %8 : tensor<i32>, tensor<6xf32>, tensor<16x6xf32>
    }
    return %arg0 : tensor<16x6xf32>
  }
}

// expected
// 0 <@mesh, [{"y"}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   func.return
