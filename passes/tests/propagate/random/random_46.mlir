module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg1: tensor<12xf32>, %arg2: tensor<i32>) -> (tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x2xf32>) -> tensor<4x1x1x1xf32>
    %1 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2, 3] : (tensor<4x1x1x1xf32>) -> tensor<4x8x4x8xf32>
    %3 = stablehlo.iota dim = 0 : tensor<8x1xi32>
    %4 = "stablehlo.gather"(%arg0, %3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<2x2xf32>, tensor<8x1xi32>) -> tensor<8x2xf32>
    %5 = stablehlo.reshape %2 : (tensor<4x8x4x8xf32>) -> tensor<64x16xf32>
    %6 = stablehlo.multiply %arg1, %arg1 : tensor<12xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %8 = stablehlo.add %arg0, %7 : tensor<2x2xf32>
    %9 = stablehlo.transpose %8, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %10 = stablehlo.transpose %1, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %10 : tensor<2x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   result 0 0
//   stablehlo.transpose 1
//   stablehlo.transpose 1
//   func.return
