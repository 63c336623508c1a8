// RUN: shardc opt --passes propagate %s
// A dimension of size 0 divides into any number of pieces.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x0xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<8x0xf32>) -> tensor<8x0xf32> {
  %0 = stablehlo.add %a, %b : tensor<8x0xf32>
  return %0 : tensor<8x0xf32>
}
