module {
  sdy.mesh @mesh = <["x"=4, "y"=6]>
  func.func public @main(%arg0: tensor<12x3x8xf32>, %arg1: tensor<12x3x8xf32>, %arg2: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg3: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}, %arg4: tensor<i32>) -> tensor<12x3x8x2xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {}, {"x", "y"}]> : tensor<12x3x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x6xf32>
    %2 = stablehlo.add %1, %1 : tensor<16x6xf32>
    %3 = stablehlo.add %1, %1 : tensor<16x6xf32>
    %4 = "stablehlo.map"(%0, %arg1) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %10 = stablehlo.add %arg5, %arg6 : tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, j, k])->([i, j, k]) {i=12, j=3, k=8}, custom>} : (tensor<12x3x8xf32>, tensor<12x3x8xf32>) -> tensor<12x3x8xf32>
    %5 = call @f0(%4) : (tensor<12x3x8xf32>) -> tensor<12x3x8x2xf32>
    %6 = stablehlo.dot_general %arg2, %4, contracting_dims = [0] x [0] : (tensor<12x8xf32>, tensor<12x3x8xf32>) -> tensor<8x3x8xf32>
    %7 = stablehlo.iota dim = 0 : tensor<8x1xi32>
    %8 = "stablehlo.gather"(%arg3, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<16x6xf32>, tensor<8x1xi32>) -> tensor<8x6xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.pad %6, %cst_0, low = [2, 0, 1], high = [0, 4, 4], interior = [0, 0, 0] : (tensor<8x3x8xf32>, tensor<f32>) -> tensor<10x7x13xf32>
    return %5 : tensor<12x3x8x2xf32>
  }
  func.func private @f0(%arg0: tensor<12x3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}]>}) -> tensor<12x3x8x2xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<12x3x8xf32>) -> tensor<12x3x8x4xf32>
    %1 = stablehlo.rsqrt %0 : tensor<12x3x8x4xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{"y":(3)2, "x", ?}, {?}, {}, {?}]> : tensor<12x3x8x4xf32>
    %3 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2] : (tensor<12x3x8xf32>) -> tensor<12x3x8x2xf32>
    return %3 : tensor<12x3x8x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {"x", "y":(1)2}]>
// 1 <@mesh, [{}, {}, {"x"}]>
// 2 <@mesh, [{}, {}]>
// 3 <@mesh, [{}, {}, {}, {}]>
// 4 <@mesh, [{}, {}, {"x", "y"}]>
// 5 <@mesh, [{}, {"y"}, {"x"}]>
// 6 <@mesh, [{}, {"y":(1)3}, {}]>
// 7 <@mesh, [{}, {"y":(1)3}, {}, {}]>
// 8 <@mesh, [{}, {"y"}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 2
//   arg 4 -
//   result 0 3
//   sdy.reshard 4
//   stablehlo.map 5
//     stablehlo.add -
//     stablehlo.return
//   sdy.reshard 6
//   func.call @f0 7
//   func.return
// func f0
//   arg 0 6
//   result 0 7
//   stablehlo.broadcast_in_dim 8
//   func.return
