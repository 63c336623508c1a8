// RUN: shardc opt --passes import,propagate,plan %s
// RUN: shardc check --interpret %s
// RUN: shardc check --interpret --plan greedy %s
// What a maximum is taken of is cut, so that each device makes a part; a whole value is as good as its parts.
sdy.mesh @mesh = <["x"=2, "c"=2]>
func.func @main(%a: tensor<8x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced=max{"c"}>}, tensor<8x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced=max{"c"}>}) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}], unreduced=max{"c"}>]>} : (tensor<8x7xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %a : tensor<8xf32>, tensor<8x7xf32>
}
