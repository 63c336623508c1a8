// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: one gather where a pipeline's slice, reshape and scatter made permutes, selects and all_reduces of the same data
// (openxla/xla#15048).
sdy.mesh @mesh = <["pipe"=2, "tensor"=4]>
func.func @main(%a: tensor<4x5x16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"pipe"}, {}, {"tensor"}, {}]>}) -> (tensor<32x16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"pipe"}, {}, {}]>}) {
  %0 = stablehlo.slice %a [0:4, 0:2, 0:16, 0:8] : (tensor<4x5x16x8xi32>) -> tensor<4x2x16x8xi32>
  %1 = stablehlo.reshape %0 : (tensor<4x2x16x8xi32>) -> tensor<8x16x8xi32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2, 3] : (tensor<8x16x8xi32>) -> tensor<8x4x16x8xi32>
  %3 = stablehlo.reshape %2 : (tensor<8x4x16x8xi32>) -> tensor<32x16x8xi32>
  return %3 : tensor<32x16x8xi32>
}
