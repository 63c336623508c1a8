module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}]>}, %arg1: tensor<i32>) -> (tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}) {
    %0 = call @f0(%arg0, %arg0) : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<1x3xf32>
    %1 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<1x3xf32>
    %2 = stablehlo.exponential %1 : tensor<1x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x3xf32>, tensor<f32>) -> tensor<3xf32>
    %4 = stablehlo.transpose %arg0, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %5 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<8x3xf32>
    %6 = stablehlo.multiply %4, %arg0 : tensor<2x6xf32>
    %7 = stablehlo.transpose %4, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<2x6xf32>) -> tensor<2x6x8xf32>
    return %6 : tensor<2x6xf32>
  }
  func.func private @f0(%arg0: tensor<2x6xf32>, %arg1: tensor<2x6xf32>) -> tensor<1x3xf32> {
    %0 = stablehlo.reshape %arg1 : (tensor<2x6xf32>) -> tensor<12x1xf32>
    %1 = stablehlo.slice %arg0 [1:2, 3:6] : (tensor<2x6xf32>) -> tensor<1x3xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<6xf32>
    return %1 : tensor<1x3xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   func.call @f0 1
//   stablehlo.transpose 0
//   stablehlo.multiply 0
//   func.return
// func f0
//   arg 0 0
//   arg 1 0
//   result 0 1
//   stablehlo.slice 0
//   func.return
