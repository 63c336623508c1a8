// RUN: not shardc opt %s
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y", "x"}]>}) {
  return
}
