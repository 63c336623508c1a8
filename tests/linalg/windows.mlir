func.func @main(%a: tensor<6x4xf32>, %i: tensor<i32>) -> (tensor<8x7xf32>, tensor<2x4xf32>, tensor<4x6xf32>, tensor<6x4xf32>) {
  %c = stablehlo.constant dense<1.5> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.pad %a, %c, low = [1, 0], high = [1, 0], interior = [0, 1] : (tensor<6x4xf32>, tensor<f32>) -> tensor<8x7xf32>
  %1 = stablehlo.dynamic_slice %a, %i, %z, sizes = [2, 4] : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = stablehlo.dynamic_update_slice %a, %1, %i, %z : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<6x4xf32>
  return %0, %1, %2, %3 : tensor<8x7xf32>, tensor<2x4xf32>, tensor<4x6xf32>, tensor<6x4xf32> }
