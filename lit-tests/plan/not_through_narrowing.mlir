// RUN: shardc compile --emit sdy %s
// Sending bf16 would be cheaper, but no sum moves to a narrower type than the program makes it in.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.convert %0 : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
  return %1 : tensor<1024x1024xbf16>
}
