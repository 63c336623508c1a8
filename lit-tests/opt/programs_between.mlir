// RUN: shardc opt --mlir-print-ir-before=propagate --mlir-print-ir-after=propagate,cse --import --propagate --cse %s
// RUN: shardc opt --mlir-print-ir-before-all --mlir-print-ir-after-all --cse --symbol-dce %s
// RUN: not shardc opt --mlir-print-ir-after=propagation --propagate %s
// Programs between passes are printed on the error stream, as mlir-opt prints them.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
