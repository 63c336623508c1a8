// RUN: shardc compile %s
// Ten elements on four devices: what pads the last piece doesn't reach the sum.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<10xf32>
  %0 = stablehlo.add %a, %one : tensor<10xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
