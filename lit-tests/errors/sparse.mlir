// RUN: not shardc opt --split-input-file %s
// Places are inside the tensor, and there is a value for each.
func.func @main() {
  %0 = stablehlo.constant sparse<[[0, 2]], [1.0]> : tensor<4x2xf32>
}
// -----
func.func @main() {
  %0 = stablehlo.constant sparse<[[0, 1], [1, 1]], [1.0, 2.0, 3.0]> : tensor<4x2xf32>
}
// -----
func.func @main() {
  %0 = stablehlo.constant sparse<[[0, -1]], [1.0]> : tensor<4x2xf32>
}
// -----
func.func @main() {
  %0 = stablehlo.constant sparse<[[0, 1, 1]], [true]> : tensor<4x2xf32>
}
// -----
func.func @main() {
  %0 = stablehlo.constant sparse<[[0, 1]], [true]> : tensor<4x2xf32>
}
