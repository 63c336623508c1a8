// RUN: shardc opt --passes planned --causes --show-origins %s | shardc explain -
// A plan that was printed with its origins says which annotation each axis comes from, though the model isn't there.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x64xf32>, %w: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x32xf32> {
  %0 = stablehlo.exponential %a : tensor<8x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %2 = stablehlo.tanh %1 : tensor<8x32xf32>
  return %2 : tensor<8x32xf32>
}
