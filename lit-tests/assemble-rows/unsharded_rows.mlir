// RUN: shardc opt --passes import,propagate,assemble-rows %s
// No row leaves its device, so nothing is assembled.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<128x64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<128x64xf32>
  return %1 : tensor<128x64xf32>
}
