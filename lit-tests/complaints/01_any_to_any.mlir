// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: a sharding turned into any other without replicating the tensor on the way (openxla/xla#15207, jax-ml/jax#21562).
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<64x64x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}]>}) -> (tensor<64x64x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}, {}]>}) {
  return %a : tensor<64x64x64xi32>
}
