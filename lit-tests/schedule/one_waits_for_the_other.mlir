// RUN: shardc compile %s
// The second sum is taken of what the first one made: they stay two.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8000x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8000x16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<16xf32>) -> tensor<8000x16xf32>
  %2 = stablehlo.multiply %1, %a : tensor<8000x16xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8000x16xf32>, tensor<f32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}
