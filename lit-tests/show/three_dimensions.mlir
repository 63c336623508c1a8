// RUN: shardc show --after none %s
// RUN: shardc show --after none --dims 1,2 %s
// The third cut dimension gives panels; --dims chooses what is drawn.
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%x: tensor<4x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"c"}, {"b"}]>}) {
  return
}
