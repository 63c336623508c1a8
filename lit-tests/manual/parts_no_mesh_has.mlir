// RUN: not shardc compile --emit manual %s
// The first two of six devices and the last two: a manual computation's axes are whole, and no mesh has both as axes.
sdy.mesh @mesh = <["x"=6]>
func.func @main(%a: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(3)2}]>}) {
  %0 = stablehlo.tanh %a : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}
