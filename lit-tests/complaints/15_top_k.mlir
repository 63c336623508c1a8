// RUN: shardc check --interpret %s
// RUN: shardc cost %s
// Asked for: the largest elements along a sharded dimension are right (jax-ml/jax#19271), and found without gathering it.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<4x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %0:2 = chlo.top_k(%a, k = 3) : tensor<4x8192xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  return %0#0, %0#1 : tensor<4x3xf32>, tensor<4x3xi32>
}
