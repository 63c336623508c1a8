// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Asked for: the right gradient of an embedding: parts of the sum over tokens belong to the whole vocabulary until they are added
// (openxla/xla#42481 slices first, and adds rows that only share a place in their shards).
sdy.mesh @mesh = <["x"=4]>
func.func @main(%ids: tensor<32x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %g: tensor<32x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<16x8xi32>
  %0 = "stablehlo.scatter"(%zero, %ids, %g) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %s = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<16x8xi32>, tensor<32x1xi32>, tensor<32x8xi32>) -> tensor<16x8xi32>
  return %0 : tensor<16x8xi32>
}
