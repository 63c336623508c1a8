// RUN: not shardc opt %s
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x2xf32>) -> tensor<4x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<16x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
