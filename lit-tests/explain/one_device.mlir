// RUN: shardc explain %s
// What an op on one device alone gives is sent to the others.
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @second = <[], device_ids=[1]>
func.func @main(%a: tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<4096xf32> {
  %0 = stablehlo.custom_call @next_from_python(%a) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@second, []>]>} : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = stablehlo.tanh %0 : tensor<4096xf32>
  return %1 : tensor<4096xf32>
}
