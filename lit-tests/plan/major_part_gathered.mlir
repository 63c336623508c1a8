// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// Merged rows and columns are sharded by the columns' axis only where the rows' axis comes before it.
sdy.mesh @mesh = <["x"=4, "y"=3]>
func.func @main(%a: tensor<4x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<48xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<4x12xi32>) -> tensor<48xi32>
  return %0 : tensor<48xi32>
}
