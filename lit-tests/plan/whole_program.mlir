// RUN: shardc cost --plan greedy %s
// RUN: shardc cost %s
// RUN: shardc opt --passes import,propagate,plan %s
// Weights and what they are trained with lie in pieces, the batch is larger than they are: gathering each weight once and
// keeping the batch cut is a choice for all ops together that no op makes alone.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%w: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %batch: tensor<16384x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %batch, %w, contracting_dims = [1] x [0] : (tensor<16384x512xf32>, tensor<512x512xf32>) -> tensor<16384x512xf32>
  %1 = stablehlo.tanh %0 : tensor<16384x512xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<16384x512xf32>, tensor<512x512xf32>) -> tensor<16384x512xf32>
  %3 = stablehlo.tanh %2 : tensor<16384x512xf32>
  %4 = stablehlo.dot_general %1, %3, contracting_dims = [0] x [0] : (tensor<16384x512xf32>, tensor<16384x512xf32>) -> tensor<512x512xf32>
  %5 = stablehlo.add %v, %4 : tensor<512x512xf32>
  return %5 : tensor<512x512xf32>
}
