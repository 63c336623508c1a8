module {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(%arg0: tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p0, {}]>}, %arg1: tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}, %arg2: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y", ?}p1]>}, %arg3: tensor<i32>) -> (tensor<16x2xf32>, tensor<2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p3, {?}p1]>}, tensor<16x2xf32>) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<2x16xf32>) -> tensor<16x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x2xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.add %0, %0 : tensor<16x2xf32>
    %3 = stablehlo.reshape %0 : (tensor<16x2xf32>) -> tensor<16x2xf32>
    return %0, %arg1, %3 : tensor<16x2xf32>, tensor<2x16xf32>, tensor<16x2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"x"}, {"y"}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 -
//   result 1 0
//   result 2 -
//   stablehlo.transpose -
//   stablehlo.reshape -
//   func.return
