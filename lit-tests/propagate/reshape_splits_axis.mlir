// RUN: shardc opt --passes propagate %s
// A dimension split in two: an axis larger than the first part is split as well.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4x8xf32> {
  %0 = stablehlo.reshape %a : (tensor<32xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
