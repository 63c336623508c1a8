module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<3x8xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", "x", ?}]>}, %arg3: tensor<2x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {}], replicated={"x"}>}, %arg4: tensor<i32>) -> (tensor<4x8xf32>, tensor<1x64x4xf32>, tensor<2x8x2xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<16x8xf32>) -> tensor<16x2x8xf32>
    %1 = call @f0(%arg1, %0) : (tensor<16x8xf32>, tensor<16x2x8xf32>) -> tensor<16x2x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<16x2x8xf32>) -> tensor<1x64x4xf32>
    %3 = stablehlo.exponential %2 : tensor<1x64x4xf32>
    %4 = stablehlo.reshape %2 : (tensor<1x64x4xf32>) -> tensor<16x16xf32>
    %5 = stablehlo.iota dim = 0 : tensor<4x1xi32>
    %6 = "stablehlo.gather"(%arg2, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
    %7 = stablehlo.reshape %arg3 : (tensor<2x8x2xf32>) -> tensor<2x16xf32>
    return %6, %3, %arg3 : tensor<4x8xf32>, tensor<1x64x4xf32>, tensor<2x8x2xf32>
  }
  func.func private @f0(%arg0: tensor<16x8xf32>, %arg1: tensor<16x2x8xf32>) -> tensor<16x2x8xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<16x2x8xf32>) -> tensor<16x1x2x8xf32>
    return %arg1 : tensor<16x2x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{}, {"y", "x"}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 0
//   arg 3 1
//   arg 4 -
//   result 0 0
//   result 1 -
//   result 2 -
//   stablehlo.broadcast_in_dim -
//   func.call @f0 -
//   stablehlo.reshape -
//   stablehlo.exponential -
//   stablehlo.iota -
//   stablehlo.gather 2
//   func.return
// func f0
//   arg 0 -
//   arg 1 -
//   result 0 -
//   func.return
