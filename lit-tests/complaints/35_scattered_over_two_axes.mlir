// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: one reduce_scatter over both axes where others reduce and then slice, and reshapes that split a sharded dimension
// (tenstorrent/tt-xla#3071, #3643).
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<64x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, %b: tensor<64x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<8x8x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi32>
  %1 = stablehlo.reshape %0 : (tensor<64x64xi32>) -> tensor<8x8x64xi32>
  return %1 : tensor<8x8x64xi32>
}
