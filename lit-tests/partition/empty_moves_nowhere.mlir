// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// A tensor without elements is on every device already.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<0x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<0x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.add %a, %a : tensor<0x4xf32>
  return %0 : tensor<0x4xf32>
}
