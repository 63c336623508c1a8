// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{hierarchical=always target=2xv5e:2x2}' %s
// Where the slices are the major part of an axis, what comes from one of them is no piece of the result: the dimension is two until
// the end, and nothing is moved inside of a chip for it. Where they are the minor part, as along "y", "x", one stage after the other does.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, %b: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}, %c: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, %d: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>})
    -> (tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}) {
  %0 = stablehlo.negate %a : tensor<3x16xf32>
  %1 = stablehlo.negate %b : tensor<16x3xf32>
  %2 = stablehlo.dot_general %c, %d, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  return %0, %1, %2 : tensor<3x16xf32>, tensor<16x3xf32>, tensor<8x16xf32>
}
