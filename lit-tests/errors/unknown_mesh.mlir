// RUN: not shardc opt %s
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mash, [{"x"}, {}]>}) {
  return
}
