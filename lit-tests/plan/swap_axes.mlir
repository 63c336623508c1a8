// RUN: shardc compile --emit sdy %s
// Two axes that change places.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.tanh %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
