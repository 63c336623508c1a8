// RUN: not shardc opt %s
// One run shows every mistake, not the first alone.
func.func @main(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  %0 = stablehlo.addd %x, %x : tensor<4xf32>
  %1 = stablehlo.multiply %x, %z : tensor<4xf32>
  %2 = stablehlo.tanh %x : tensor<4xf99>
  return %2 : tensor<4xf32>
}
