// RUN: shardc opt --passes symbol-dce %s
// What @main calls stays, directly or not; functions that only call each other go.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @first(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @first(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @second(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @second(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @lost(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @lost_too(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @lost_too(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
