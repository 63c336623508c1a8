// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// Parts that a constraint asks for at the end of a branch are combined before the branch gives them.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%c: tensor<i1>, %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%c) ({
    %1 = sdy.sharding_constraint %a <@mesh, [{"y"}], unreduced={"x"}> : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
