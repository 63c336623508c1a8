// RUN: shardc compile --stages stage* --assign stage0@m1,stage1@m0 --microbatches 2 --schedule gpipe %s
// RUN: shardc run --stages stage* --assign stage0@m1,stage1@m0 --microbatches 2 --schedule gpipe --seed 1 %s
// Stages by the names of jax.named_scope, on meshes chosen by hand, in an order chosen by hand.
func.func @main(%x: tensor<4x3xi32>) -> tensor<4x3xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=1]>>, <"m1": <["x"=1]>>>} {
  %0 = stablehlo.add %x, %x : tensor<4x3xi32> loc("jit(step)/jvp(stage0)/add")
  %1 = stablehlo.multiply %0, %x : tensor<4x3xi32> loc("jit(step)/jvp(stage0)/mul")
  %2 = stablehlo.negate %1 : tensor<4x3xi32> loc("jit(step)/jvp(stage1)/neg")
  return %2 : tensor<4x3xi32>
}
