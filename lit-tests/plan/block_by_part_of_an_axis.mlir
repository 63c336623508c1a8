// RUN: shardc compile --emit sdy %s
// Gathering both weights costs as much as gathering the batch and adding up its sums. Cheaper is a bit of both: the major half of
// the axis shards the hidden units, as it does where the weights are given, so that these are gathered along the minor half; the
// batch is gathered along the major one, which is the innermost one of the batch everywhere else.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %w: tensor<8192x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %up: tensor<512x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %down: tensor<8192x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x8192xf32>, tensor<8192x512xf32>) -> tensor<8192x512xf32>
  %1 = stablehlo.sine %0 : tensor<8192x512xf32>
  %2 = stablehlo.dot_general %1, %up, contracting_dims = [1] x [0] : (tensor<8192x512xf32>, tensor<512x8192xf32>) -> tensor<8192x8192xf32>
  %3 = stablehlo.tanh %2 : tensor<8192x8192xf32>
  %4 = stablehlo.dot_general %3, %down, contracting_dims = [1] x [0] : (tensor<8192x8192xf32>, tensor<8192x512xf32>) -> tensor<8192x512xf32>
  %5 = stablehlo.add %1, %4 : tensor<8192x512xf32>
  %6 = stablehlo.sine %5 : tensor<8192x512xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8192x512xf32>, tensor<f32>) -> tensor<f32>
  return %7 : tensor<f32>
}
