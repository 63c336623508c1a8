// RUN: shardc run --interpret --inputs errors/arrays.npz %s
// Arrays by names that no argument has are taken in their order where all fit, which is said.
func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.subtract %arg0, %arg1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
