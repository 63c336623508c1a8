// RUN: shardc compile --emit sdy --memory 708 %s
// The cheapest plan computes everything on every device and moves nothing. The plan's own peak is more than 708 bytes, but the
// program that is made of it needs 704, so it is used.
sdy.mesh @mesh = <["x"=6, "y"=2]>
func.func @main(%a: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>}, tensor<8x1x8xf32>) {
  %0 = stablehlo.negate %a : tensor<8x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.reshape %0 : (tensor<8x8xf32>) -> tensor<8x1x8xf32>
  return %1, %0, %2 : tensor<8xf32>, tensor<8x8xf32>, tensor<8x1x8xf32>
}
