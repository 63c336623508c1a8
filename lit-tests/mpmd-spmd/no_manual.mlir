// RUN: not shardc compile --emit manual %s
// What is on part of the devices can't be said in a manual computation over all of them.
func.func @main(%x: tensor<4x8xi32>) -> tensor<4x8xi32> attributes {topology = #mpmd.topology<<"a": <["x"=2]>>, <"b": <["x"=2]>>>} {
  %0 = mpmd.named_computation<"f"> (%x) (%y: tensor<4x8xi32>) {
    %1 = stablehlo.negate %y : tensor<4x8xi32>
    mpmd.return %1 : tensor<4x8xi32>
  } : (tensor<4x8xi32>) -> tensor<4x8xi32>
  return %0 : tensor<4x8xi32>
}
