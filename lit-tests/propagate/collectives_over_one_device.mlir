// RUN: shardc opt --passes propagate %s
// Shardings forget axes of size one, and so do collectives: what is left of these is the gather over "j".
sdy.mesh @mesh = <["i"=1, "j"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {"j"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.all_gather [{}, {"j"}] %a out_sharding=<@mesh, [{"i"}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_to_all [{"i"}: 0->1] %0 out_sharding=<@mesh, [{}, {"i"}]> : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
