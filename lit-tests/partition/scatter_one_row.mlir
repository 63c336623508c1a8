// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// A cache into which each sequence writes one row: every device writes what falls into its shard, and nothing moves.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%cache: tensor<4x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}, %new: tensor<4x1x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %at: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) {
  %0 = "stablehlo.scatter"(%cache, %at, %new) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %update: tensor<f32>):
    stablehlo.return %update : tensor<f32>
  }) : (tensor<4x8x3xf32>, tensor<4x1xi32>, tensor<4x1x3xf32>) -> tensor<4x8x3xf32>
  return %0 : tensor<4x8x3xf32>
}
