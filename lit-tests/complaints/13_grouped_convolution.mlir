// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: a convolution of groups of features keeps the batch sharded (openxla/xla#47945 gathers it, and computes all of it
// everywhere).
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<8x8x8x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {}]>}, %w: tensor<3x3x2x12xi32>) -> (tensor<8x8x8x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}, {}, {}]>}) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<8x8x8x6xi32>, tensor<3x3x2x12xi32>) -> tensor<8x8x8x12xi32>
  return %0 : tensor<8x8x8x12xi32>
}
