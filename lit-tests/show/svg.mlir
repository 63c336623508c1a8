// RUN: shardc show --svg %s
// RUN: shardc show --html --value %a %s
// For documents and browsers: the boxes of the terminal as SVG.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  return %a : tensor<4x4xf32>
}
