// RUN: shardc check --interpret %s
// Three operands on an axis of six, along the second of two dimensions.
sdy.mesh @mesh = <["x"=6]>
func.func @main(%a: tensor<2x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<2x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %c: tensor<2x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<2x18xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, %c, dim = 1 : (tensor<2x6xi32>, tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x18xi32>
  return %0 : tensor<2x18xi32>
}
