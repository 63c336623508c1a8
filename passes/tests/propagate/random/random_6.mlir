module {
  sdy.mesh @mesh = <["x"=8, "y"=2, "z"=4]>
  func.func public @main(%arg0: tensor<8x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {}], replicated={"z"}>}, %arg1: tensor<16x3xf32>, %arg2: tensor<i32>) -> (tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, tensor<8x8x2xf32>, tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"z":(1)2, ?}], replicated={"y"}>}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<8x8x2xf32>
    %0 = stablehlo.add %cst, %cst : tensor<8x8x2xf32>
    %1 = "stablehlo.sort"(%arg0) <{dimension = 2 : i64, is_stable = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %15 = stablehlo.compare LT, %arg3, %arg4 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }) : (tensor<8x8x2xf32>) -> tensor<8x8x2xf32>
    %2 = sdy.sharding_constraint %arg1 <@mesh, [{?}, {"y"}]> : tensor<16x3xf32>
    %3 = stablehlo.concatenate %0, %0, %1, dim = 0 : (tensor<8x8x2xf32>, tensor<8x8x2xf32>, tensor<8x8x2xf32>) -> tensor<24x8x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.dynamic_slice %1, %c, %c_0, %c_1, sizes = [8, 4, 2] : (tensor<8x8x2xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x4x2xf32>
    %5 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{?}, {"z", ?}, {}]>] out_shardings=[<@mesh, [{?}, {"z", ?}, {}]>] manual_axes={"z"} (%arg3: tensor<8x2x2xf32>) {
      %15 = stablehlo.reshape %arg3 : (tensor<8x2x2xf32>) -> tensor<32xf32>
      %16 = stablehlo.dot_general %arg3, %arg3, contracting_dims = [0] x [0] : (tensor<8x2x2xf32>, tensor<8x2x2xf32>) -> tensor<2x2x2x2xf32>
      %17 = sdy.sharding_constraint %16 <@mesh, [{"y", "x":(4)2}, {}, {}, {?}]> : tensor<2x2x2x2xf32>
      sdy.return %arg3 : tensor<8x2x2xf32>
    } : (tensor<8x8x2xf32>) -> tensor<8x8x2xf32>
    %6 = stablehlo.reverse %4, dims = [0, 1, 2] : tensor<8x4x2xf32>
    %7 = sdy.sharding_constraint %5 <@mesh, [{?}, {}, {?}], replicated={"y"}> : tensor<8x8x2xf32>
    %8 = stablehlo.maximum %6, %4 : tensor<8x4x2xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<8x8x2xf32>
    %9 = stablehlo.add %1, %cst_2 : tensor<8x8x2xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<8x8x2xf32>
    %11 = stablehlo.add %0, %10 : tensor<8x8x2xf32>
    %12 = stablehlo.dot_general %11, %10, contracting_dims = [1] x [1] : (tensor<8x8x2xf32>, tensor<8x8x2xf32>) -> tensor<8x2x8x2xf32>
    %13 = stablehlo.iota dim = 1 : tensor<8x4x2xf32>
    %14 = call @f0(%12) : (tensor<8x2x8x2xf32>) -> tensor<8x2x8x2xf32>
    return %2, %1, %2 : tensor<16x3xf32>, tensor<8x8x2xf32>, tensor<16x3xf32>
  }
  func.func private @f0(%arg0: tensor<8x2x8x2xf32>) -> tensor<8x2x8x2xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.pad %arg0, %cst, low = [0, 1, 1, 0], high = [0, 0, 4, 1], interior = [0, 0, 0, 0] : (tensor<8x2x8x2xf32>, tensor<f32>) -> tensor<8x3x13x3xf32>
    %1 = stablehlo.maximum %0, %0 : tensor<8x3x13x3xf32>
    return %arg0 : tensor<8x2x8x2xf32>
  }
}

// expected
// 0 <@mesh, [{"y"}, {}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"y"}, {"z"}, {}]>
// 3 <@mesh, [{}, {"y"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 1
//   result 1 2
//   result 2 1
//   stablehlo.add -
//   stablehlo.sort 2
//     stablehlo.compare -
//     stablehlo.return
//   sdy.reshard 3
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   stablehlo.dot_general -
//   func.call @f0 -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   func.return
