// RUN: shardc compile --emit manual %s
// XLA takes no collective of several operands inside a manual computation: it joins these itself.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  return %a, %b : tensor<8x2xf32>, tensor<8x3xf32>
}
