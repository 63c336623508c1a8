// RUN: shardc show --after none %s
// Ten elements on four devices: the last piece is short; five pieces of nothing on sixteen.
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @wide = <["x"=16]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<10xf32> {sdy.sharding = #sdy.sharding<@wide, [{"x"}]>}) {
  return
}
