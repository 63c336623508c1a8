// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{hierarchical=always target=2xv5e:2x2}' %s
// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{target=2xv5e:2x2}' %s
// Five rows of three are not divided among four chips, and along "y" alone everything stays inside of a slice.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<5x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, %b: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}, %c: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>})
    -> (tensor<5x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x16xf32>, tensor<16x3xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.tanh %c : tensor<8x4xf32>
  return %0, %1 : tensor<5x3xf32>, tensor<8x4xf32>
}
