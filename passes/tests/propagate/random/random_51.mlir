module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<12x16xf32>, %arg1: tensor<8x12xf32>, %arg2: tensor<i32>) -> (tensor<8x6x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}, {?}], replicated={"x"}>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %c : (tensor<12x16xf32>, tensor<8x12xf32>, tensor<i32>, tensor<i32>) -> tensor<12x16xf32>
    %1 = call @f0(%arg1, %0) : (tensor<8x12xf32>, tensor<12x16xf32>) -> tensor<8x6x1xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.case"(%c_0) ({
      %9 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<8x6x1xf32>) -> tensor<8x6x4xf32>
      %10 = stablehlo.reverse %9, dims = [0, 1, 2] : tensor<8x6x4xf32>
      stablehlo.return %0 : tensor<12x16xf32>
    }, {
      %9 = stablehlo.slice %0 [7:12, 0:16] : (tensor<12x16xf32>) -> tensor<5x16xf32>
      %10 = stablehlo.slice %9 [4:5, 11:14] : (tensor<5x16xf32>) -> tensor<1x3xf32>
      stablehlo.return %0 : tensor<12x16xf32>
    }) : (tensor<i32>) -> tensor<12x16xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<8x6x1xf32>) -> tensor<8x6x8xf32>
    %4 = stablehlo.reverse %1, dims = [0, 1, 2] : tensor<8x6x1xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"x"}, {?}, {}]> : tensor<8x6x1xf32>
    %6 = sdy.manual_computation(%4) in_shardings=[<@mesh, [{"x", ?}, {?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}, {?}]>] manual_axes={"x"} (%arg3: tensor<1x6x1xf32>) {
      %9 = stablehlo.reshape %arg3 : (tensor<1x6x1xf32>) -> tensor<1x1x2x3xf32>
      %10 = stablehlo.dot_general %arg3, %arg3, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}, {?}, {?}]>]>} : (tensor<1x6x1xf32>, tensor<1x6x1xf32>) -> tensor<1x1x1x1xf32>
      %11 = stablehlo.concatenate %10, %10, %10, dim = 1 : (tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x3x1x1xf32>
      %12 = stablehlo.concatenate %11, %10, dim = 1 : (tensor<1x3x1x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x4x1x1xf32>
      sdy.return %arg3 : tensor<1x6x1xf32>
    } : (tensor<8x6x1xf32>) -> tensor<8x6x1xf32>
    %7 = sdy.manual_computation(%5) in_shardings=[<@mesh, [{"x", ?}, {?}, {}]>] out_shardings=[<@mesh, [{"x", ?}, {?}, {}]>] manual_axes={"x"} (%arg3: tensor<1x6x1xf32>) {
      %9 = stablehlo.reshape %arg3 : (tensor<1x6x1xf32>) -> tensor<6xf32>
      %10 = stablehlo.slice %arg3 [0:1, 0:6, 0:1] : (tensor<1x6x1xf32>) -> tensor<1x6x1xf32>
      %11 = stablehlo.negate %arg3 : tensor<1x6x1xf32>
      sdy.return %arg3 : tensor<1x6x1xf32>
    } : (tensor<8x6x1xf32>) -> tensor<8x6x1xf32>
    %8 = stablehlo.maximum %6, %7 : tensor<8x6x1xf32>
    return %5 : tensor<8x6x1xf32>
  }
  func.func private @f0(%arg0: tensor<8x12xf32>, %arg1: tensor<12x16xf32>) -> tensor<8x6x1xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %c, %c_0, sizes = [8, 6] : (tensor<8x12xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
    %1 = stablehlo.reshape %0 : (tensor<8x6xf32>) -> tensor<8x6x1xf32>
    return %1 : tensor<8x6x1xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{"x"}, {}, {}]>
// 3 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 1
//   stablehlo.dynamic_update_slice -
//   func.call @f0 2
//   stablehlo.reverse 2
//   sdy.reshard 2
//   func.return
// func f0
//   arg 0 0
//   arg 1 3
//   result 0 2
//   stablehlo.dynamic_slice 0
//   stablehlo.reshape 2
//   func.return
