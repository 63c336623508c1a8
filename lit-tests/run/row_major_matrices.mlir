// RUN: shardc run %s
// RUN: shardc run --interpret %s
// RUN: shardc check %s
// RUN: shardc opt --passes import %s
// LAPACK reads memory by columns: of a row-major matrix it factors the one with columns (1, 2), (3, 4) and (5, 6), and its result's
// columns are read by rows again. JAX's ffi_call writes such layouts where its caller names none.
sdy.mesh @mesh = <["x"=2]>
func.func @main() -> (tensor<2x3xf64>, tensor<2xi32>) {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>
  %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) {mhlo.backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2xi32>, tensor<i32>)
  %factors = stablehlo.constant dense<[[2.0, 0.5, 4.0], [1.0, 6.0, 2.0]]> : tensor<2x3xf64>
  check.expect_almost_eq %0#0, %factors : tensor<2x3xf64>
  %rows = stablehlo.constant dense<2> : tensor<2xi32>
  check.expect_eq %0#1, %rows : tensor<2xi32>
  return %0#0, %0#1 : tensor<2x3xf64>, tensor<2xi32>
}
