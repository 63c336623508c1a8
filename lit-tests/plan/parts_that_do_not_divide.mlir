// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// The first 2 of 6 devices and the last 2: no value is cut by both, so the one is gathered before the other cuts.
sdy.mesh @mesh = <["x"=6]>
func.func @main(%a: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x":(3)2}]>}) {
  %0 = stablehlo.tanh %a : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}
