// RUN: shardc compile --emit sdy %s
// What is gathered commutes with conversions: the narrower type is sent, be it before or after.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.convert %a : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  %1 = stablehlo.convert %b : (tensor<1024x1024xf32>) -> tensor<1024x1024xbf16>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1024x1024xbf16>
}
