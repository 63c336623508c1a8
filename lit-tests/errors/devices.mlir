// RUN: not shardc run --interpret --devices 3,2,1 %s
// RUN: not shardc run --interpret --devices 3,3 %s
// RUN: shardc run --interpret --devices 3,1 %s
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xi32> {
  return %x : tensor<2xi32>
}
