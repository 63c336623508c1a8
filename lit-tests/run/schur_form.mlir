// RUN: shardc run %s
// RUN: shardc run --interpret %s
// The signs of the Schur form's first row and of its second vector depend on the last bit of an element that converges
// to 0, so native code and the reference evaluator compute the same bits.
func.func @main() -> (tensor<3x3xf64>, tensor<3x3xf64>) {
  %a = stablehlo.constant dense<[[1.0, -0.75, 1.5], [0.75, -1.0, 2.0], [1.5, -2.0, -1.0]]> : tensor<3x3xf64>
  %0:6 = stablehlo.custom_call @lapack_dgees_ffi(%a) {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}} : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<i32>, tensor<i32>)
  return %0#0, %0#1 : tensor<3x3xf64>, tensor<3x3xf64>
}
