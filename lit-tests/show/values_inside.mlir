// RUN: shardc show --after none --value %h %s
// RUN: not shardc show --after none --value %q %s
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %h = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
  return %h : tensor<4xf32>
}
