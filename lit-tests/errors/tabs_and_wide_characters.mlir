// RUN: not shardc opt %s
// Columns count characters, and the caret stands under the fault.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
	%0 = stablehlo.tanh %x {"größe" = "日本"} : tensor<4xf23>
  return %0 : tensor<4xf32>
}
