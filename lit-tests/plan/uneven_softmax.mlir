// RUN: shardc check --interpret --plan greedy %s
// RUN: shardc compile --plan greedy --emit stablehlo %s
// Ten examples over four devices, seven classes over two: maxima hide padding by minus infinity, sums by zero.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<10x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<10x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<10x7xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<10xf32>) -> tensor<10x7xf32>
  %2 = stablehlo.subtract %a, %1 : tensor<10x7xf32>
  %3 = stablehlo.exponential %2 : tensor<10x7xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<10x7xf32>, tensor<f32>) -> tensor<10xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<10xf32>) -> tensor<10x7xf32>
  %6 = stablehlo.divide %3, %5 : tensor<10x7xf32>
  return %6 : tensor<10x7xf32>
}
