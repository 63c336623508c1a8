// RUN: shardc cost --target v5p:2x2x1 %s
// Asked for: communication beside work that doesn't need it, and how much of it is exposed (openxla/xla#45315, #1539): the weights of
// the second layer are gathered while the first is computed.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<16384x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<2048x2048xf32>, %w: tensor<2048x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16384x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<16384x2048xf32>, tensor<2048x2048xf32>) -> tensor<16384x2048xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<16384x2048xf32>, tensor<2048x512xf32>) -> tensor<16384x512xf32>
  return %1 : tensor<16384x512xf32>
}
