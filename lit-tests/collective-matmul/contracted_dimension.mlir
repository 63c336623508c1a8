// RUN: shardc opt --passes planned{search=greedy},partition,collective-matmul{when=always} %s
// What is gathered is contracted: partial products are added, in f32 since each device would round a sum of bf16.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<64x96xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x96xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x64xbf16>, tensor<64x96xbf16>) -> tensor<8x96xbf16>
  return %0 : tensor<8x96xbf16>
}
