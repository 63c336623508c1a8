// RUN: not shardc compile %s
// Ops of MHLO say what they are called today.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = mhlo.add %a, %a : tensor<4xf32>
  %1 = "mhlo.multiply"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = mhlo.erf %a : tensor<4xf32>
  %3 = mhlo.topk(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %4 = mhlo.copy %a : tensor<4xf32>
  return %a : tensor<4xf32>
}
