// RUN: shardc compile --emit sdy %s
// Two batches become one: every shard goes straight to where it belongs, half of the devices' in each of two permutes.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8192x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<8192x1024xf32>
  %1 = stablehlo.tanh %0 : tensor<8192x1024xf32>
  return %1 : tensor<8192x1024xf32>
}
