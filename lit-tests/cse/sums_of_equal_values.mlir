// RUN: shardc opt --passes cse{elementwise=false} %s
// RUN: shardc run %s
// The two differences are one value, so that one of the two sums goes, and the difference that only it has read. The one
// that the negation reads is as cheap there as a load, and so is what a barrier holds back.
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.subtract %x, %y : tensor<2x3xf32>
  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = stablehlo.subtract %x, %y : tensor<2x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %4 = stablehlo.subtract %x, %y : tensor<2x3xf32>
  %5 = stablehlo.negate %4 : tensor<2x3xf32>
  %6 = stablehlo.optimization_barrier %0 : tensor<2x3xf32>
  %7 = stablehlo.reduce(%6 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %1, %3, %5, %7 : tensor<2xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<2xf32>
}
