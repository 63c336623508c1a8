// RUN: shardc opt --passes import,propagate,slice-gathers %s
// Positions that fall by two are a strided slice of the reversed rows.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %at = stablehlo.constant dense<[[7], [5], [3], [1]]> : tensor<4x1xi32>
  %0 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<8x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
