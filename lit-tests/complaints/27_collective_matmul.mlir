// RUN: shardc cost --target v5p:2x2x2 %s
// openxla/xla#26948, jax-ml/jax#39200: both operands of a product are sharded along two axes, and no windowed einsum was
// made of either gather. Here one of them arrives while its first part is multiplied: a permute instead of a gather.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8192x8192xf32>, tensor<8192x8192xf32>) -> tensor<8192x8192xf32>
  return %0 : tensor<8192x8192xf32>
}
