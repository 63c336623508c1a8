// RUN: shardc opt --passes planned{search=greedy},partition,collective-matmul{when=always} %s
// Rows go both ways around the ring while a device multiplies those that it has: two permutes follow each other, not three.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<6x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x12xf32>) -> tensor<8x12xf32>
  return %0 : tensor<8x12xf32>
}
