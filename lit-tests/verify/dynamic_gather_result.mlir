// RUN: not shardc opt %s
// Constant sizes decide the result's type, as those of a gather do.
func.func @main(%a: tensor<8x4xf32>, %i: tensor<2x3xi32>) {
  %s = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %r = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>}> : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<2xi64>) -> tensor<i1>
  return
}
