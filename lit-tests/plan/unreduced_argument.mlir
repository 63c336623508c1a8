// RUN: shardc compile --emit sdy %s
// RUN: shardc check --interpret %s
// Partial sums of an argument that is wanted divided are scattered; one wanted divided along one of its unreduced axes and whole along the
// other is scattered along the first and combined along the second.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=2]>
func.func @main(%a: tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>},
                %b: tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y", "z"}>})
    -> (tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<512x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %0 = stablehlo.abs %a : tensor<512x512xi32>
  return %0, %b : tensor<512x512xi32>, tensor<512x512xi32>
}
