// RUN: shardc opt --passes one-device %s
// RUN: shardc check --interpret %s
// A type without a zero is sent as the sum of bits, of which all but one device's are 0.
sdy.mesh @mesh = <["x"=4]>
sdy.mesh @second = <[], device_ids=[1]>
func.func @main(%a: tensor<4xf8E8M0FNU> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf8E8M0FNU> {
  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@second, []>]>} : tensor<4xf8E8M0FNU>
  return %0 : tensor<4xf8E8M0FNU>
}
