// RUN: shardc compile --emit sdy %s
// Budgets that hold say nothing. The sum's partial results are reduced once: 1.5 times its bytes are sent by four devices.
// shardc: expect all_reduce == 1, collectives <= 1, bytes == 384, peak < 64 KiB
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
