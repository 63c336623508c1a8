// RUN: shardc cost %s
// RUN: shardc cost --json %s
// A sum of everything runs in rows, so that threads can share it; it is told of as the one op that it is.
func.func @main(%x: tensor<512x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
