module {
  sdy.mesh @mesh = <["x"=6]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %arg1: tensor<12x3x2xf32>, %arg2: tensor<i32>) -> (tensor<16x8xf32>, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) {
    %0 = stablehlo.reshape %arg1 : (tensor<12x3x2xf32>) -> tensor<4x2x1x9xf32>
    %1 = stablehlo.maximum %arg0, %arg0 : tensor<16x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %1, %c, %c_0, sizes = [8, 4] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %3 = sdy.propagation_barrier %arg1 allowed_direction=FORWARD : tensor<12x3x2xf32>
    return %1, %1 : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x":(1)2}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   result 0 1
//   result 1 1
//   stablehlo.maximum 2
//   func.return
