module {
  sdy.mesh @mesh = <["x"=8, "y"=3]>
  func.func public @main(%arg0: tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x", ?}], replicated={"y"}>}, %arg1: tensor<3x3x8xf32>, %arg2: tensor<2x6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {?}]>}, %arg3: tensor<3x16x12xf32>, %arg4: tensor<i32>) -> (tensor<3x16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}, {}]>}) {
    %0 = "stablehlo.sort"(%arg2) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %10 = stablehlo.compare LT, %arg5, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<2x6x8xf32>) -> tensor<2x6x8xf32>
    %1 = sdy.propagation_barrier %arg3 allowed_direction=NONE : tensor<3x16x12xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg3, %iterArg_1 = %arg2) : tensor<i32>, tensor<3x16x12xf32>, tensor<2x6x8xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %10 = stablehlo.pad %arg1, %cst, low = [2, 2, 2], high = [4, 4, 0], interior = [0, 0, 0] : (tensor<3x3x8xf32>, tensor<f32>) -> tensor<9x9x10xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %11 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %11, %iterArg_0, %iterArg_1 : tensor<i32>, tensor<3x16x12xf32>, tensor<2x6x8xf32>
    }
    %3 = stablehlo.broadcast_in_dim %2#2, dims = [1, 2, 3] : (tensor<2x6x8xf32>) -> tensor<6x2x6x8xf32>
    %4 = stablehlo.dot_general %arg1, %arg1, batching_dims = [2] x [2], contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}, {?}]>]>} : (tensor<3x3x8xf32>, tensor<3x3x8xf32>) -> tensor<8x3x3xf32>
    %5 = stablehlo.dot_general %3, %2#2, batching_dims = [3] x [2], contracting_dims = [2] x [1] : (tensor<6x2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<8x6x2x2xf32>
    %6 = stablehlo.iota dim = 2 : tensor<8x6x2x2xf32>
    %7 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{}, {?}, {?}, {"x", ?}]>] out_shardings=[<@mesh, [{}, {?}, {?}, {"x", ?}]>] manual_axes={"x"} (%arg5: tensor<6x2x6x1xf32>) {
      %10 = stablehlo.negate %arg5 : tensor<6x2x6x1xf32>
      sdy.return %10 : tensor<6x2x6x1xf32>
    } : (tensor<6x2x6x8xf32>) -> tensor<6x2x6x8xf32>
    %8 = stablehlo.reshape %4 : (tensor<8x3x3xf32>) -> tensor<3x24x1xf32>
    %9 = sdy.propagation_barrier %5 allowed_direction=NONE : tensor<8x6x2x2xf32>
    return %arg3 : tensor<3x16x12xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}]>
// 1 <@mesh, [{}, {}, {"x"}]>
// 2 <@mesh, [{"y"}, {"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 2
//   arg 4 -
//   result 0 2
//   func.return
