// RUN: shardc opt --passes planned{search=greedy},partition,collective-matmul{when=always} %s
// All devices compute this sum, and each would add its parts in another order: it stays a gather, so that they hold the same bits.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<64x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<8x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<8x64xf32>
  %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x96xf32>) -> tensor<8x96xf32>
  return %1 : tensor<8x96xf32>
}
