// RUN: shardc compile --emit stablehlo %s
// A strided convolution needs one row of the next device; the gradient of its kernel sums over sharded positions.
sdy.mesh @mesh = <["h"=2]>
func.func @main(%x: tensor<256x64x32xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"h"}, {}]>}, %k: tensor<3x32x4xi32>, %g: tensor<256x32x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"h"}, {}]>}) -> (tensor<256x32x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"h"}, {}]>}, tensor<3x32x4xi32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x64x32xi32>, tensor<3x32x4xi32>) -> tensor<256x32x4xi32>
  %1 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[0, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<256x64x32xi32>, tensor<256x32x4xi32>) -> tensor<3x32x4xi32>
  return %0, %1 : tensor<256x32x4xi32>, tensor<3x32x4xi32>
}
