// RUN: shardc show --after none %s
// The mesh, and a matrix cut along both dimensions.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  return
}
