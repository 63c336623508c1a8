// RUN: shardc search --target v5e:2x2 --show 0 %s
// RUN: shardc search --target v5e:2x2 -o - %s
// Values that are alike get one constraint: here what two equal loops compute.
func.func @main(%u: tensor<1024x1024xf32>, %v: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c16 = stablehlo.constant dense<16> : tensor<i32>
  %samples = stablehlo.iota dim = 0 : tensor<16384x1024xf32>
  %0 = func.call @layer(%u, %samples) : (tensor<1024x1024xf32>, tensor<16384x1024xf32>) -> tensor<16384x1024xf32>
  %1 = func.call @layer(%v, %0) : (tensor<1024x1024xf32>, tensor<16384x1024xf32>) -> tensor<16384x1024xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16384x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %2 : tensor<1024xf32>
}
func.func private @layer(%w: tensor<1024x1024xf32>, %x: tensor<16384x1024xf32>) -> tensor<16384x1024xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %0:2 = stablehlo.while(%h = %x, %i = %c0) : tensor<16384x1024xf32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %product = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<16384x1024xf32>, tensor<1024x1024xf32>) -> tensor<16384x1024xf32>
    %next = stablehlo.tanh %product : tensor<16384x1024xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %next, %j : tensor<16384x1024xf32>, tensor<i32>
  }
  return %0#0 : tensor<16384x1024xf32>
}
