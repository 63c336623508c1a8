// RUN: shardc explain %s
// RUN: shardc cost %s
// Without a mesh and shardings there is nothing to explain but how to get some.
func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
