// RUN: shardc show --after none %s
// Ten elements on four devices: the last piece is short.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}
