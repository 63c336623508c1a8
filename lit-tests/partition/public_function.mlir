// RUN: shardc compile %s
// RUN: shardc compile --emit manual %s
// A public function stays although nobody calls it, with what it calls: every device has it as it is.
sdy.mesh @mesh = <["x"=2]>
func.func public @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x2xf32> {
  %0 = stablehlo.tanh %a : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
func.func public @init(%key: tensor<2xui32>) -> tensor<2xui32> {
  %0 = call @next(%key) : (tensor<2xui32>) -> tensor<2xui32>
  return %0 : tensor<2xui32>
}
func.func private @next(%key: tensor<2xui32>) -> tensor<2xui32> {
  %0 = stablehlo.add %key, %key : tensor<2xui32>
  return %0 : tensor<2xui32>
}
func.func private @unused(%key: tensor<2xui32>) -> tensor<2xui32> {
  return %key : tensor<2xui32>
}
