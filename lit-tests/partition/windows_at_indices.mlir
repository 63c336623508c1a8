// RUN: shardc check --interpret %s
// RUN: shardc compile %s

// Three rows are read and written wherever each sequence says, in a cache whose rows are sharded: each position gets an
// index of its own, and each device takes part with the rows that it holds. No part of the cache moves. XLA leaves out a
// window that is partly out of bounds, unlike the specification; these can't be.
sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(
    %cache: tensor<4x16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    %new: tensor<4x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
    %at: tensor<4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<4x16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>},
    tensor<4x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<13> : tensor<i32>
  %in = stablehlo.clamp %first, %at, %last : (tensor<i32>, tensor<4x1xi32>, tensor<i32>) -> tensor<4x1xi32>
  %0 = "stablehlo.scatter"(%cache, %in, %new) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, indices_are_sorted = true, unique_indices = true}> ({
  ^bb0(%old: tensor<f32>, %update: tensor<f32>):
    stablehlo.return %update : tensor<f32>
  }) : (tensor<4x16x6xf32>, tensor<4x1xi32>, tensor<4x3x6xf32>) -> tensor<4x16x6xf32>
  %1 = "stablehlo.gather"(%0, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3, 6>}> : (tensor<4x16x6xf32>, tensor<4x1xi32>) -> tensor<4x3x6xf32>
  return %0, %1 : tensor<4x16x6xf32>, tensor<4x3x6xf32>
}
