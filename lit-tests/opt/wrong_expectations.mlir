// RUN: not shardc opt --verify-diagnostics %s
// What was wanted and isn't there, and what is there and wasn't wanted.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-warning @+1 {{is no known op}}
  %0 = stablehlo.tanj %a : tensor<4xf32>
  // expected-error-re {{a {{(}} b}}
  return %0 : tensor<4xf32>
}
