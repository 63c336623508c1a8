// RUN: not shardc opt %s
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}
