// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: the way in which a gather is partitioned chosen by what it costs (openxla/xla#13304). Few rows of a large sharded
// table are looked up where they are; a small table is gathered for many lookups.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%large: tensor<4096x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %few: tensor<16x1xi32>, %small: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %many: tensor<4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<4096x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%large, %few) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<4096x64xf32>, tensor<16x1xi32>) -> tensor<16x64xf32>
  %1 = "stablehlo.gather"(%small, %many) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<16x64xf32>, tensor<4096x1xi32>) -> tensor<4096x64xf32>
  return %0, %1 : tensor<16x64xf32>, tensor<4096x64xf32>
}
