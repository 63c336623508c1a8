// RUN: shardc opt --passes import,propagate,slice-gathers %s
// Irregular positions, and positions in a dimension that isn't sharded, stay a gather.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %at = stablehlo.constant dense<[[0], [1], [3], [7]]> : tensor<4x1xi32>
  %0 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<4x1xi32>) -> tensor<4x4xf32>
  %columns = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
  %1 = "stablehlo.gather"(%a, %columns) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 8, 1>}> : (tensor<8x4xf32>, tensor<2x1xi32>) -> tensor<8x2xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<8x2xf32>
}
