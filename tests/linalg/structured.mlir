func.func @main(%a: tensor<5x7xf32>, %b: tensor<7x3xf32>, %c: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.25 : f32
  %0 = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x3xf32>) outs(%c : tensor<5x3xf32>) -> tensor<5x3xf32>
  %e = tensor.empty() : tensor<5x3xf32>
  %1 = linalg.map ins(%0 : tensor<5x3xf32>) outs(%e : tensor<5x3xf32>) (%x: f32, %o: f32) {
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  }
  %s = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%s : tensor<3xf32>) -> tensor<3xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<5x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
  return %1, %2 : tensor<5x3xf32>, tensor<3xf32> }
