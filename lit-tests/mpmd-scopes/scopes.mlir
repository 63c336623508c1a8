// RUN: shardc opt --passes mpmd-scopes{scopes=stage*} %s
// RUN: shardc opt --passes mpmd-scopes{assign=stage0@m1,stage1@m0},mpmd-assign{assign=stage0@m1,stage1@m0} %s
// Ops under names of JAX's become named computations: a derivative's is a backward one, what stands under no name stays as it is.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %0 = stablehlo.add %x, %x : tensor<4xi32> loc("jit(step)/jvp(stage0)/add")
  %1 = stablehlo.multiply %0, %x : tensor<4xi32> loc("jit(step)/jvp(stage0)/mul")
  %2 = stablehlo.negate %1 : tensor<4xi32> loc("jit(step)/jvp(stage1)/inner/neg")
  %3 = stablehlo.subtract %2, %x : tensor<4xi32> loc("jit(step)/sub")
  %4 = stablehlo.multiply %3, %2 : tensor<4xi32> loc("jit(step)/transpose(jvp(stage1))/mul")
  %5 = stablehlo.add %4, %0 : tensor<4xi32> loc("jit(step)/transpose(jvp(stage0))/add")
  %6 = stablehlo.add %5, %5 : tensor<4xi32> loc("jit(step)/jvp(stage0)/late")
  return %6 : tensor<4xi32>
}
