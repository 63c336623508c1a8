module {
  sdy.mesh @mesh = <["x"=2, "y"=6]>
  func.func public @main(%arg0: tensor<2x4x4xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y", ?}, {?}]>}, %arg3: tensor<i32>) -> tensor<10x17xf32> {
    %0 = stablehlo.reshape %arg2 : (tensor<8x16xf32>) -> tensor<1x16x1x8xf32>
    %1 = stablehlo.add %arg1, %arg2 : tensor<8x16xf32>
    %2 = stablehlo.reshape %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}], replicated={"x"}>]>} : (tensor<8x16xf32>) -> tensor<128xf32>
    %3 = stablehlo.multiply %1, %1 : tensor<8x16xf32>
    %4 = stablehlo.maximum %arg1, %arg2 : tensor<8x16xf32>
    %5 = call @f0(%4) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %6 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg4: tensor<4x16xf32>) {
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %10 = stablehlo.pad %arg4, %cst_0, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<5x16xf32>
      %11 = stablehlo.iota dim = 0 : tensor<4x16xf32>
      %12 = stablehlo.slice %10 [0:5, 0:16] : (tensor<5x16xf32>) -> tensor<5x16xf32>
      sdy.return %arg4 : tensor<4x16xf32>
    } : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %7 = "stablehlo.sort"(%4) <{dimension = 1 : i64, is_stable = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %10 = stablehlo.compare LT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %8 = stablehlo.iota dim = 0 : tensor<8x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.pad %8, %cst, low = [2, 1], high = [0, 0], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<10x17xf32>
    return %9 : tensor<10x17xf32>
  }
  func.func private @f0(%arg0: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8x16xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<8x16xf32>) -> tensor<128xf32>
    return %arg0 : tensor<8x16xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{"x", "y"}, {}]>
// 2 <@mesh, [{"x", "y":(1)2}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 0
//   arg 3 -
//   result 0 -
//   stablehlo.maximum 1
//   sdy.reshard 2
//   func.call @f0 2
//   stablehlo.iota -
//   stablehlo.pad -
//   func.return
// func f0
//   arg 0 2
//   result 0 2
//   func.return
