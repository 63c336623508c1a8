// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// Seven rows on six devices lie in pairs, on the two devices of an axis in fours: rows shift between devices, which takes
// all of them in between. Eleven lie in pairs and sixes, which agree: only devices of one half tell each other.
sdy.mesh @mesh = <["x"=2, "y"=3]>
func.func @main(%a: tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %b: tensor<11x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> (tensor<7x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<11x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<7x4xi32>
  %1 = stablehlo.negate %b : tensor<11x4xi32>
  return %0, %1 : tensor<7x4xi32>, tensor<11x4xi32>
}
