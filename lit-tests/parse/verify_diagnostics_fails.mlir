// RUN: not shardc opt --verify-diagnostics %s
// What is expected and doesn't come is an error, and so is what comes unexpected.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{the moon is full}}
  return %y : tensor<4xf32>
}
