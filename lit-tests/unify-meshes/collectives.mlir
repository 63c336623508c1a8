// RUN: shardc opt --passes unify-meshes %s
// The axes of a collective are those of its mesh, and are renamed with it.
sdy.mesh @flat = <["x"=8]>
sdy.mesh @grid = <["i"=4, "j"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"x"}, {}]>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@grid, [{"j"}, {"i"}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.all_gather [{}, {"i"}] %b out_sharding=<@grid, [{"j"}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_to_all [{"j"}: 0->1] %0 out_sharding=<@grid, [{}, {"j"}]> : tensor<8x8xf32>
  return %a, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
