// RUN: not shardc opt %s
func.func @main(%x: tensor<4xf32>) -> tensor<5xf32> {
  return %x : tensor<4xf32>
}
