// RUN: shardc diff %s
// RUN: shardc diff --target v5e:2x4 --json %s
// RUN: shardc compile --plan greedy %s | shardc diff - %s
// RUN: not shardc diff - -
// The greedy plan gathers what is summed over, the full plan shards the products and gathers their sum.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<1024x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %c: tensor<512x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.add %0, %1 : tensor<1024x1024xf32>
  return %2 : tensor<1024x1024xf32>
}
