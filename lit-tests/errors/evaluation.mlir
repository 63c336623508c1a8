// RUN: not shardc run --interpret %s
// What can't be run is named with its place.
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "acme.polish"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
