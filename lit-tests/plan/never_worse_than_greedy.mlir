// RUN: shardc diff --target v5e:2x4 %s
// Gathering both dimensions at once costs less on the links, but its pieces must be put in order and the product be computed twice: the greedy plan is used.
sdy.mesh @mesh = <["X"=2, "Y"=4]>
func.func @main(%a: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}, %w: tensor<1024x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"Y"}]>}) -> (tensor<512x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"X"}, {"Y"}]>}) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<512x1024xf32>, tensor<1024x2048xf32>) -> tensor<512x2048xf32>
  return %0 : tensor<512x2048xf32>
}
