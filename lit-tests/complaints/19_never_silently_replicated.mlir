// RUN: shardc compile %s
// RUN: shardc check --interpret %s
// Asked for: a constraint that 17 rows are on 8 devices isn't dropped without a word (jax-ml/jax#26946): it is kept, and padded.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<17x4xi32>) -> tensor<17x4xi32> {
  %0 = stablehlo.add %a, %a : tensor<17x4xi32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<17x4xi32>
  %2 = stablehlo.multiply %1, %1 : tensor<17x4xi32>
  return %2 : tensor<17x4xi32>
}
