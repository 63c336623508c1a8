// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: weights gathered again for the gradient instead of kept since the forward pass (jax-ml/jax#25010). What jax.checkpoint
// puts behind a barrier is gathered behind it, so that the plan doesn't hold two layers at once.
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %v: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %2:2 = stablehlo.optimization_barrier %1, %v : tensor<256x64xf32>, tensor<64x64xf32>
  %3 = stablehlo.dot_general %2#0, %2#1, contracting_dims = [1] x [1] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  return %3 : tensor<256x64xf32>
}
