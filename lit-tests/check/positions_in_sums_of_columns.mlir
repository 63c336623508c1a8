// RUN: shardc check %s
// Native sums of columns of what depends on a column's number: the number moves with the loop over columns.
func.func @main(%x: tensor<16x64xf32>) -> tensor<64xf32> {
  %column = stablehlo.iota dim = 1 : tensor<16x64xf32>
  %weighted = stablehlo.multiply %x, %column : tensor<16x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sums = stablehlo.reduce(%weighted init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %sums : tensor<64xf32>
}
