// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{hierarchical=always target=2xv5e:2x2}' %s
// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{hierarchical=always target=4xh100:2}' %s
// RUN: shardc opt --passes 'planned{search=greedy},partition,decompose-hierarchical{hierarchical=always target=v5e:2x4}' %s
// A sum over two slices of four chips is reduced and scattered inside of each, summed over the network, and gathered inside. Over
// four islands of two GPUs the same axis is divided elsewhere. In one slice it stays whole.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<6x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6x12xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<6x16xf32>, tensor<16x12xf32>) -> tensor<6x12xf32>
  return %0 : tensor<6x12xf32>
}
