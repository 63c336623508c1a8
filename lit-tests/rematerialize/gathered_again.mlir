// RUN: shardc compile --memory 4900 %s
// RUN: shardc check --memory 4900 %s
// A weight that the first and the last product read is gathered for each: between them a device has no room for it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.dot_general %0, %u, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x32xf32>) -> tensor<32x32xf32>
  %2 = stablehlo.dot_general %1, %u, contracting_dims = [1] x [1] : (tensor<32x32xf32>, tensor<16x32xf32>) -> tensor<32x16xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  return %3 : tensor<32x16xf32>
}
