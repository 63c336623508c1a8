// RUN: shardc opt %s
// RUN: shardc opt --passes import %s
// Constants of other dialects are StableHLO's.
func.func @main() -> (tensor<2xi32>, tensor<f32>) {
  %0 = arith.constant dense<[1, 2]> : tensor<2xi32>
  %1 = chlo.constant dense<1.0> : tensor<f32>
  return %0, %1 : tensor<2xi32>, tensor<f32>
}
