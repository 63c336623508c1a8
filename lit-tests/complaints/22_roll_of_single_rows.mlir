// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Asked for: rolls, concatenations and pads that stay well formed, also where a shard is one row (jax-ml/jax#39301).
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8192xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [5:8, 0:8192] : (tensor<8x8192xi32>) -> tensor<3x8192xi32>
  %1 = stablehlo.slice %a [0:5, 0:8192] : (tensor<8x8192xi32>) -> tensor<5x8192xi32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<3x8192xi32>, tensor<5x8192xi32>) -> tensor<8x8192xi32>
  return %2 : tensor<8x8192xi32>
}
