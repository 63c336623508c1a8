// RUN: shardc compile --emit sdy %s
// Where everything agrees nothing is inserted.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.multiply %a, %a : tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
