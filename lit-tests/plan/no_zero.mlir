// RUN: shardc check --seed 1 %s
// RUN: shardc compile %s
// Powers of two have no zero, so a device that has no part of a sum would have nothing to add: such sums are never partial.
sdy.mesh @mesh = <["a"=4]>

func.func @main(
  %x: tensor<64x512xf8E8M0FNU> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
  %y: tensor<64x2xf8E8M0FNU> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>},
  %i: tensor<i32>
) -> (tensor<1x512xf8E8M0FNU>, tensor<512x2xf8E8M0FNU>, tensor<512xf8E8M0FNU>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<f8E8M0FNU>
  %0 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 512] : (tensor<64x512xf8E8M0FNU>, tensor<i32>, tensor<i32>) -> tensor<1x512xf8E8M0FNU>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x512xf8E8M0FNU>, tensor<64x2xf8E8M0FNU>) -> tensor<512x2xf8E8M0FNU>
  %2 = stablehlo.reduce(%x init: %one) applies stablehlo.maximum across dimensions = [0] : (tensor<64x512xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<512xf8E8M0FNU>
  return %0, %1, %2 : tensor<1x512xf8E8M0FNU>, tensor<512x2xf8E8M0FNU>, tensor<512xf8E8M0FNU>
}
