// RUN: not shardc opt --passes mpmd-scopes{scopes=stage0,stage1,head*} %s
// RUN: not shardc compile --stages stage2 %s
// RUN: not shardc compile --stages stage0 --assign stage0@m9 %s
// RUN: not shardc compile --stages stage0 --schedule 2f2b %s
// Names under which there is no op, a mesh and an order that there aren't.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>, <"m1": <["x"=2]>>>} {
  %0 = stablehlo.add %x, %x : tensor<4xi32> loc("jit(step)/jvp(stage0)/add")
  return %0 : tensor<4xi32>
}
