// RUN: shardc compile --emit sdy %s
// RUN: shardc compile --emit sdy --memory 6MB %s
// To gather before widening sends less, but then a device holds both types at once: within 6 MB it widens first.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.convert %a : (tensor<1024x1024xbf16>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
