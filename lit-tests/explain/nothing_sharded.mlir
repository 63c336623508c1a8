// RUN: shardc explain %s
// A mesh without shardings: every device computes everything.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.add %a, %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
