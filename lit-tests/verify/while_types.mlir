// RUN: not shardc opt %s
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %w = stablehlo.while(%x = %a) : tensor<8xf32>
  cond {
    stablehlo.return %x : tensor<8xf32>
  } do {
    stablehlo.return %x : tensor<8xf32>
  }
  return %w : tensor<8xf32>
}
