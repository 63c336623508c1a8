module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<2x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg3: tensor<12x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {?}]>}, %arg4: tensor<i32>) -> tensor<2x3xf32> {
    %0 = stablehlo.iota dim = 1 : tensor<2x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.add %0, %1 : tensor<2x3xf32>
    %3 = stablehlo.add %arg2, %1 : tensor<2x3xf32>
    %4 = call @f0(%arg1, %0) : (tensor<8xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %5 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<2x3xf32>
    %6 = stablehlo.iota dim = 1 : tensor<2x3xf32>
    %7 = "stablehlo.sort"(%4) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %11 = stablehlo.compare LT, %arg5, %arg6 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %8 = stablehlo.broadcast_in_dim %4, dims = [0, 2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
    %9 = stablehlo.concatenate %arg3, %arg3, dim = 1 : (tensor<12x8x8xf32>, tensor<12x8x8xf32>) -> tensor<12x16x8xf32>
    %10 = stablehlo.multiply %7, %7 : tensor<2x3xf32>
    return %10 : tensor<2x3xf32>
  }
  func.func private @f0(%arg0: tensor<8xf32>, %arg1: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.negate %arg1 : tensor<2x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.add %1, %1 : tensor<2x3xf32>
    %3 = stablehlo.add %0, %1 : tensor<2x3xf32>
    %4 = stablehlo.multiply %0, %3 : tensor<2x3xf32>
    %5 = stablehlo.iota dim = 0 : tensor<8x1xi32>
    %6 = "stablehlo.gather"(%0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<8x1xi32>) -> tensor<8x3xf32>
    return %3 : tensor<2x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {}, {}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 0
//   arg 3 1
//   arg 4 -
//   result 0 -
//   stablehlo.iota -
//   func.call @f0 -
//   stablehlo.sort -
//     stablehlo.compare -
//     stablehlo.return
//   stablehlo.multiply -
//   func.return
// func f0
//   arg 0 -
//   arg 1 -
//   result 0 -
//   stablehlo.negate -
//   stablehlo.broadcast_in_dim -
//   stablehlo.add -
//   func.return
