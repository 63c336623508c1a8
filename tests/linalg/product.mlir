func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>) -> (tensor<5x3xf32>, tensor<5xf32>) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.tanh %0 : tensor<5x3xf32>
  %c = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<5xf32>
  return %1, %2 : tensor<5x3xf32>, tensor<5xf32> }
