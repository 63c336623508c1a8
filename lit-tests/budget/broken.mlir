// RUN: not shardc compile %s
// RUN: not shardc compile --json --emit manual %s
// Each that doesn't hold is named with what was found, at its place.
// shardc: expect all_gather <= 4, all_reduce < 1
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // shardc: expect bytes <= 383, peak <= 4 KiB
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
