// RUN: not shardc opt %s
// A name nearby is offered.
func.func @main(%weights: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %weigths : tensor<4xf32>
  return %0 : tensor<4xf32>
}
