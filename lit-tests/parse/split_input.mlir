// RUN: not shardc opt --split-input-file %s
// Programs between the marks are read one by one; line numbers stay those of the file.
func.func @first() {
  return
}
// -----
func.func @second(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}
// -----
func.func @third() {
  return
}
