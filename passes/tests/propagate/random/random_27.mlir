module {
  sdy.mesh @mesh = <["x"=4, "y"=6, "z"=3]>
  func.func public @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, %arg1: tensor<i32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x", ?}]>}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.concatenate %0, %arg0, dim = 1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x16xf32>
    %2 = stablehlo.dynamic_update_slice %arg0, %arg0, %arg1, %arg1 : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %3 = stablehlo.reshape %arg0 : (tensor<8x8xf32>) -> tensor<8x1x8xf32>
    %4 = stablehlo.negate %2 : tensor<8x8xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<8x1x8xf32>) -> tensor<8x4x8xf32>
    %6 = stablehlo.reverse %4, dims = [0, 1] : tensor<8x8xf32>
    %7 = stablehlo.multiply %3, %3 : tensor<8x1x8xf32>
    %8 = sdy.sharding_constraint %2 <@mesh, [{"z", "x", ?}, {?}]> : tensor<8x8xf32>
    %9 = stablehlo.reshape %5 : (tensor<8x4x8xf32>) -> tensor<64x4xf32>
    %10 = stablehlo.dot_general %8, %0, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x":(2)2, ?}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %11 = "stablehlo.sort"(%9) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %12 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    }) : (tensor<64x4xf32>) -> tensor<64x4xf32>
    return %10, %4, %8 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {"x"}]>
// 2 <@mesh, [{}, {"z", "x"}]>
// 3 <@mesh, [{"z", "x"}, {}]>
// 4 <@mesh, [{}, {"x":(2)2}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   result 1 0
//   result 2 1
//   stablehlo.transpose 2
//   stablehlo.dynamic_update_slice 3
//   stablehlo.negate 3
//   sdy.reshard 3
//   stablehlo.dot_general 4
//   func.return
