// RUN: not shardc run --interpret %s
// LAPACK's routines are calls of a library; lowered for TPU, JAX writes the algorithm.
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.custom_call @lapack_spotrf_ffi(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
