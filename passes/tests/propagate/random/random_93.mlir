module {
  sdy.mesh @mesh = <["x"=4, "y"=6]>
  func.func public @main(%arg0: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", ?}]>}, %arg1: tensor<4x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(2)2}, {?}]>}, %arg2: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<i32>) -> (tensor<6xf32>, tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"x"}>}) {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<4x12xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {?}, {}]>]>} : (tensor<4x12xf32>) -> tensor<4x12x2xf32>
    %2 = stablehlo.concatenate %arg2, %arg2, %arg2, dim = 0 : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<18xf32>
    %3 = stablehlo.negate %1 : tensor<4x12x2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<18xf32>, tensor<f32>) -> tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<18xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.pad %1, %cst_0, low = [1, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<4x12x2xf32>, tensor<f32>) -> tensor<6x12x2xf32>
    %7 = stablehlo.concatenate %6, %6, %6, dim = 2 : (tensor<6x12x2xf32>, tensor<6x12x2xf32>, tensor<6x12x2xf32>) -> tensor<6x12x6xf32>
    %8 = stablehlo.exponential %arg2 : tensor<6xf32>
    return %8, %8 : tensor<6xf32>, tensor<6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}]>
// 1 <@mesh, [{"x":(2)2}, {"y"}]>
// 2 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 -
//   result 0 -
//   result 1 2
//   stablehlo.exponential -
//   func.return
