// RUN: shardc cost --target v5e:4x2 %s
// A layer of Megatron with its sequence sharded between the products: rows go both ways around the eight chips beside
// the first product (2.37 ms with a gather before it). The sum is scattered after the second as before: its chunks would be
// written and read once more.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<8192x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4096x16384xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %c: tensor<16384x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8192x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %1 = stablehlo.tanh %0 : tensor<8192x16384xbf16>
  %2 = stablehlo.dot_general %1, %c, contracting_dims = [1] x [0] : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  return %2 : tensor<8192x4096xbf16>
}
