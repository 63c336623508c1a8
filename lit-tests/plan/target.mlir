// RUN: shardc compile --emit sdy %s
// RUN: shardc compile --emit sdy --target v5e:8x1 %s
// The model decides: what is cheaper without a target need not be so on a line of eight chips.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<256x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<4096x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x256xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x4096xbf16>, tensor<4096x256xbf16>) -> tensor<256x256xbf16>
  %1 = stablehlo.tanh %0 : tensor<256x256xbf16>
  return %1 : tensor<256x256xbf16>
}
