// RUN: shardc compile --emit sdy %s
// What is computed of few bytes by every second device is written twice, so that of what is dear to move only a part is
// gathered: an axis of eight devices is cut, and its minor part goes from the mask to the features.
sdy.mesh @mesh = <["e"=8]>
func.func @main(%x: tensor<4096x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}]>}, %at: tensor<4096x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}]>}) -> (tensor<16x512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"e"}, {}, {}]>}) {
  %0 = stablehlo.broadcast_in_dim %at, dims = [0, 1] : (tensor<4096x16xi32>) -> tensor<4096x16x512xi32>
  %1 = stablehlo.iota dim = 2 : tensor<4096x16x512xi32>
  %2 = stablehlo.compare EQ, %0, %1 : (tensor<4096x16x512xi32>, tensor<4096x16x512xi32>) -> tensor<4096x16x512xi1>
  %3 = stablehlo.convert %2 : (tensor<4096x16x512xi1>) -> tensor<4096x16x512xf32>
  %4 = stablehlo.dot_general %3, %x, contracting_dims = [0] x [0] : (tensor<4096x16x512xf32>, tensor<4096x1024xf32>) -> tensor<16x512x1024xf32>
  return %4 : tensor<16x512x1024xf32>
}
