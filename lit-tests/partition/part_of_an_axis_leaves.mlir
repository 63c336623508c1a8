// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// Of an axis of 6 devices the minor 3 leave a dimension, the major 2 stay.
sdy.mesh @mesh = <["y"=6]>
func.func @main(%a: tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) -> (tensor<12x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(1)2}, {}]>}) {
  %0 = stablehlo.tanh %a : tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}
