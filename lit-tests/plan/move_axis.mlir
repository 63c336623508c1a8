// RUN: shardc compile --emit sdy %s
// An axis that moves from one dimension to another is an all_to_all.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
