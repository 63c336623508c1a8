// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// Both sides of a product are summed along 1030 positions on four devices: padding is hidden by selects on both, since
// zero times what it holds may be no zero.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x1030xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<1030x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x1030xf32>, tensor<1030x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
