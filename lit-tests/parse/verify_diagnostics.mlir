// RUN: shardc opt --verify-diagnostics --split-input-file %s
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{%y is not defined here}}
  return %y : tensor<4xf32>
}
// -----
func.func @main(%x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32> // expected-error {{(C1)}}
  return %0 : tensor<4xf32>
}
