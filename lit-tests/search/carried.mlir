// RUN: shardc search --target v5e:2x2 --show 1 %s
// RUN: shardc search --target v5e:2x2 -o - %s | shardc cost --target v5e:2x2 -
// Samples are made inside: no argument has their dimension, and what a loop carries lies where propagation puts it.
// A constraint says that the loop carries shards of them.
func.func @main(%w: tensor<1024x1024xf32>) -> tensor<1024xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c16 = stablehlo.constant dense<16> : tensor<i32>
  %samples = stablehlo.iota dim = 0 : tensor<16384x1024xf32>
  %0:2 = stablehlo.while(%h = %samples, %i = %c0) : tensor<16384x1024xf32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %c16 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %product = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<16384x1024xf32>, tensor<1024x1024xf32>) -> tensor<16384x1024xf32>
    %next = stablehlo.tanh %product : tensor<16384x1024xf32>
    %j = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %next, %j : tensor<16384x1024xf32>, tensor<i32>
  }
  %1 = stablehlo.reduce(%0#0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16384x1024xf32>, tensor<f32>) -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}
