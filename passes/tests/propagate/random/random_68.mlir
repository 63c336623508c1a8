module {
  sdy.mesh @mesh = <["x"=4, "y"=6, "z"=6]>
  func.func public @main(%arg0: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"y", ?}, {?}]>}, %arg1: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}, %arg2: tensor<i32>) -> (tensor<16x8x8xf32>, tensor<8x2x64xf32>) {
    %0 = stablehlo.exponential %arg1 : tensor<16x8x8xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<16x8x8xf32>) -> tensor<8x2x64xf32>
    %2 = stablehlo.negate %1 : tensor<8x2x64xf32>
    %3 = stablehlo.maximum %0, %arg1 : tensor<16x8x8xf32>
    return %3, %1 : tensor<16x8x8xf32>, tensor<8x2x64xf32>
  }
}

// expected
// 0 <@mesh, [{"z":(1)2}, {}, {}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{"z":(1)2}, {}, {"y":(1)2}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 -
//   result 1 1
//   stablehlo.exponential -
//   stablehlo.reshape 2
//   stablehlo.maximum -
//   func.return
