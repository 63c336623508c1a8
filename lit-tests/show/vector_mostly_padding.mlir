// RUN: shardc show --after none %s
// Five elements on eight devices: three hold nothing but padding.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}
