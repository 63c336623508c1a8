// RUN: shardc run --interpret --seed 0 %s
// RUN: shardc run --interpret --seed 1 %s
// Made-up inputs follow the seed, and are the same on every machine.
func.func @main(%f: tensor<6xf32>, %i: tensor<6xi32>, %b: tensor<6xi1>, %h: tensor<6xbf16>) -> (tensor<6xf32>, tensor<6xi32>, tensor<6xi1>, tensor<6xbf16>) {
  return %f, %i, %b, %h : tensor<6xf32>, tensor<6xi32>, tensor<6xi1>, tensor<6xbf16>
}
