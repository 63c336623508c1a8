// RUN: shardc opt --mlir-very-unsafe-disable-verifier-on-parsing %s
// RUN: shardc opt --mlir-very-unsafe-disable-verifier-on-parsing --generic %s
// RUN: not shardc opt %s
// RUN: not shardc opt --mlir-very-unsafe-disable-verifier-on-parsing --propagate %s
// A program that breaks the specification, as files of StableHLO's own tests do, is read and printed where that is asked for.
func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x4xi1> {
  %0 = stablehlo.compare LT, %a, %b, SIGNED : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
  %1 = "stablehlo.dot_general"(%a, %b) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<3xf32>
  %2 = "stablehlo.all_gather"(%a) {replica_groups = 5 : i32} : (tensor<8x4xf32>) -> tensor<3xf32>
  return %0 : tensor<8x4xi1>
}
