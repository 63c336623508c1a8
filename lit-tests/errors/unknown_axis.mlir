// RUN: not shardc opt %s
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"modle"}]>}) {
  return
}
