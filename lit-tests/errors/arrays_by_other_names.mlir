// RUN: shardc run --interpret --inputs errors/arrays.npz %s
// RUN: not shardc run --interpret --expect errors/arrays.npz %s
// Arrays are taken by the names that JAX gave the arguments; expected results are of some inputs.
func.func @main(%arg0: tensor<2xf32> loc("params['w']"), %arg1: tensor<2xf32> loc("x")) -> tensor<2xf32> {
  %0 = stablehlo.subtract %arg0, %arg1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
