// RUN: shardc opt --passes import,propagate,slice-gathers %s
// Rows at known, regular positions of a sharded dimension are repeated; the table of positions isn't computed any more.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %i = stablehlo.iota dim = 0 : tensor<8x1xi32>
  %two = stablehlo.constant dense<2> : tensor<8x1xi32>
  %at = stablehlo.divide %i, %two : tensor<8x1xi32>
  %0 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<8x1xi32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
