// RUN: shardc opt %s --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: stablehlo.tanh %arg0 : tensor<8xf32> loc("{{.*}}locations.mlir":[[#@LINE+1]]:8)
  %0 = stablehlo.tanh %a : tensor<8xf32>
  // CHECK: "acme.wave"(%0) : (tensor<8xf32>) -> tensor<8xf32> loc("wave")
  %1 = "acme.wave"(%0) : (tensor<8xf32>) -> tensor<8xf32> loc("wave")
  return %1 : tensor<8xf32>
}
