// RUN: shardc compile --emit sdy %s
// RUN: shardc compile --emit sdy --target h100:8 %s
// The model decides: two collectives around a divided op are cheaper without a target, but not on an island of GPUs,
// where each takes 22 us to start.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<1024x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<4096x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<1024x1024xbf16>
  %1 = stablehlo.tanh %0 : tensor<1024x1024xbf16>
  return %1 : tensor<1024x1024xbf16>
}
