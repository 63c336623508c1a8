// RUN: shardc compile --emit manual %s
// RUN: shardc check --interpret %s
// Each device scatters into its slice of %a. XLA reads a window of a window without clamping where one is out of range, as
// the index is on five of the six devices: a barrier keeps both apart.
sdy.mesh @mesh = <["x"=6]>
func.func @main(%a: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %i: tensor<1x1xi32>, %u: tensor<1xf32>) -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<12xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<12xf32>
  return %0 : tensor<12xf32>
}
