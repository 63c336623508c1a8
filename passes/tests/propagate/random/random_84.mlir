module {
  sdy.mesh @mesh = <["x"=3, "y"=8, "z"=2]>
  func.func public @main(%arg0: tensor<16x16xf32>, %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"y"}>}, %arg2: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x"}>}, %arg3: tensor<i32>) -> (tensor<4x8xf32>, tensor<16x16xf32>) {
    %0 = stablehlo.concatenate %arg2, %arg2, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"y", "x", "z"}, {}]> : tensor<4x8xf32>
    %2 = stablehlo.slice %arg1 [0:1, 0:8] : (tensor<4x8xf32>) -> tensor<1x8xf32>
    %3 = stablehlo.dot_general %arg1, %1, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.exponential %1 : tensor<4x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.dynamic_update_slice %1, %2, %c, %c_0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
    %6 = stablehlo.reshape %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {}]>]>} : (tensor<4x8xf32>) -> tensor<16x1x2xf32>
    %7 = stablehlo.multiply %4, %1 : tensor<4x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    return %7, %arg0 : tensor<4x8xf32>, tensor<16x16xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{"y", "x", "z"}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 0
//   result 1 -
//   sdy.reshard 2
//   stablehlo.exponential 2
//   stablehlo.multiply 2
//   func.return
