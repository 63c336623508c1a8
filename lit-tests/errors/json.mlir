// RUN: not shardc opt --json %s
// The last line of output tells a program what went wrong.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}
