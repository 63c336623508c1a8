// RUN: shardc compile --memory 13500 %s
// RUN: shardc check --memory 13500 %s
// What is computed of a product element by element, and read by the next product and by the last one, is computed again for
// that one, in its own kernel: the product itself is held.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %w: tensor<16x32xf32>, %u: tensor<32x32xf32>) -> (tensor<32x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
  %1 = stablehlo.logistic %0 : tensor<32x32xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<32x32xf32>
  %3 = stablehlo.dot_general %2, %u, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %4 = stablehlo.dot_general %3, %u, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %5 = stablehlo.multiply %4, %1 : tensor<32x32xf32>
  %6 = stablehlo.multiply %2, %0 : tensor<32x32xf32>
  %7 = stablehlo.add %5, %6 : tensor<32x32xf32>
  return %7 : tensor<32x32xf32>
}
