// RUN: shardc opt --mlir-print-debuginfo --mlir-print-local-scope %s
// RUN: shardc opt --mlir-print-debuginfo --mlir-print-local-scope --split-input-file=//!! --output-split-marker=//!! --import %s
// Locations inside the ops; what has none of its own has the file's, also in pieces of a file and where it was called.
func.func @main(%x: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32> loc(unknown)
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32> loc(callsite("model.py":12:5 at #here))
  %1 = "stablehlo.negate"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
#here = loc("train.py":40:1)
//!!
module {
  func.func @main(%x: tensor<4xf32>, %y: tensor<i32> {jax.result_info = "é"}, %z: tensor<i32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
