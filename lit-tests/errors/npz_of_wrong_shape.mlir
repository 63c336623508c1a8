// RUN: not shardc run --interpret --inputs ../tests/corpus/tpu_matmul_square/inputs.npz %s
// RUN: not shardc run --interpret --inputs missing.npz %s
func.func @main(%x: tensor<4x8xf32>, %y: tensor<2xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
