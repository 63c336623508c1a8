// RUN: shardc show --after none --width 60 %s
// What doesn't fit is left out in the middle.
sdy.mesh @mesh = <["x"=16, "y"=16]>
func.func @main(%a: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  return
}
