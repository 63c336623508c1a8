// RUN: not shardc compile %s
// The number of a device has no meaning for a global value, and is refused instead of mixed.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xui32> {
  %0 = stablehlo.partition_id : tensor<ui32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<8xui32>
  %2 = stablehlo.add %a, %1 : tensor<8xui32>
  return %2 : tensor<8xui32>
}
