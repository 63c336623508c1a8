// RUN: shardc opt %s
// A file may hold functions without a module around them.
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
