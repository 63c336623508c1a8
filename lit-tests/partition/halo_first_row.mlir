// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// One row of a tensor before all rows of another: only single rows move, not shards of the tensor whose row is taken.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<256x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<127x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<128x64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:1, 0:64] : (tensor<256x64xi32>) -> tensor<1x64xi32>
  %1 = stablehlo.concatenate %0, %b, dim = 0 : (tensor<1x64xi32>, tensor<127x64xi32>) -> tensor<128x64xi32>
  return %1 : tensor<128x64xi32>
}
