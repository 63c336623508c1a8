// RUN: shardc opt --passes import,propagate,merge-shifts %s
// Operands of equal types are stacked, and the stack is merged with the sharded dimension.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8192x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4096x1024xf32>, tensor<4096x1024xf32>) -> tensor<8192x1024xf32>
  return %0 : tensor<8192x1024xf32>
}
