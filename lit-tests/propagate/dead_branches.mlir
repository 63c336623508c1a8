// RUN: shardc opt --passes propagate %s
// A conditional that nobody reads goes with its branches, and at once what only they read: nothing spreads through it.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%p: tensor<i1>, %a: tensor<8x4xf32>, %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<i1> {
  %0 = stablehlo.multiply %a, %b : tensor<8x4xf32>
  %1 = stablehlo.dot_general %b, %0, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8xf32>
  %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<1x8xf32>
  %3 = "stablehlo.if"(%p) ({
    stablehlo.return %2 : tensor<1x8xf32>
  }, {
    stablehlo.return %2 : tensor<1x8xf32>
  }) : (tensor<i1>) -> tensor<1x8xf32>
  return %p : tensor<i1>
}
