// RUN: not shardc opt --passes import %s
// A function that calls itself has no end to inline to.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @again(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
