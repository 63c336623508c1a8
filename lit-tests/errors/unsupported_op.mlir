// RUN: not shardc opt %s
// An op without a definition can't be read in short form.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = acme.polish %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
