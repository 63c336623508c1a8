// RUN: shardc opt --passes import %s
// Ops of CHLO become StableHLO.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.square %a : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
