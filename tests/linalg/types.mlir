func.func @main(%a: tensor<3x5xbf16>, %u: tensor<6xui8>, %e: tensor<0x3xf32>) -> (tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32>) {
  %c = stablehlo.constant dense<0.0> : tensor<bf16>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1] : (tensor<3x5xbf16>, tensor<bf16>) -> tensor<3xbf16>
  %1 = stablehlo.convert %0 : (tensor<3xbf16>) -> tensor<3xf32>
  %k = stablehlo.constant dense<[0, 1, 2, 250, 3, 7]> : tensor<6xui8>
  %2 = stablehlo.divide %u, %k : tensor<6xui8>
  %3 = stablehlo.convert %2 : (tensor<6xui8>) -> tensor<6xf32>
  %4 = stablehlo.compare LT, %u, %k : (tensor<6xui8>, tensor<6xui8>) -> tensor<6xi1>
  %5 = stablehlo.convert %4 : (tensor<6xi1>) -> tensor<6xf32>
  %6 = stablehlo.reduce(%e init: %f) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %1, %3, %5, %6 : tensor<3xf32>, tensor<6xf32>, tensor<6xf32>, tensor<3xf32> }
