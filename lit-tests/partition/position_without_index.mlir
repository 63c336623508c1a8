// RUN: shardc check --interpret %s
// RUN: shardc compile %s

// No index points into the first dimension, so that all slices lie in its first row: on one device only.
sdy.mesh @mesh = <["x"=2]>

func.func @main(%a: tensor<8x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<3x1xi32>, %u: tensor<3xi32>) -> (tensor<3xi32>, tensor<8x6xi32>) {
  %r = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x6xi32>, tensor<3x1xi32>) -> tensor<3xi32>
  %s = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %p = stablehlo.add %x, %y : tensor<i32>
      stablehlo.return %p : tensor<i32>
  }) : (tensor<8x6xi32>, tensor<3x1xi32>, tensor<3xi32>) -> tensor<8x6xi32>
  return %r, %s : tensor<3xi32>, tensor<8x6xi32>
}
