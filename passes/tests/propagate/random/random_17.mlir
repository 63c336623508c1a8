module {
  sdy.mesh @mesh = <["x"=4, "y"=8, "z"=3]>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"y"}>}, %arg1: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"y"}>}, %arg2: tensor<4x12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}, {?}]>}, %arg3: tensor<i32>) -> (tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<9xf32>, tensor<9xf32>) {
    %0 = stablehlo.dot_general %arg2, %arg2, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x12x8xf32>, tensor<4x12x8xf32>) -> tensor<4x8x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %cst, low = [0], high = [1], interior = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}], replicated={"z"}>]>} : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.pad %1, %cst_0, low = [2], high = [4], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<9xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %1) : tensor<i32>, tensor<3xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %6 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6 = sdy.propagation_barrier %1 allowed_direction=FORWARD : tensor<3xf32>
      %7 = stablehlo.maximum %6, %iterArg_1 : tensor<3xf32>
      %8 = stablehlo.slice %iterArg_1 [1:3] : (tensor<3xf32>) -> tensor<2xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %9 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %9, %7 : tensor<i32>, tensor<3xf32>
    }
    %4 = stablehlo.slice %3#1 [0:2] : (tensor<3xf32>) -> tensor<2xf32>
    %5 = stablehlo.dot_general %arg2, %0, contracting_dims = [2] x [1] : (tensor<4x12x8xf32>, tensor<4x8x8xf32>) -> tensor<4x12x4x8xf32>
    return %3#1, %2, %2 : tensor<3xf32>, tensor<9xf32>, tensor<9xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 0
//   result 1 -
//   result 2 -
//   stablehlo.pad 0
//   stablehlo.pad -
//   stablehlo.while - -
//     stablehlo.compare -
//     stablehlo.return
//     sdy.propagation_barrier -
//     stablehlo.maximum -
//     stablehlo.add -
//     stablehlo.return
//   func.return
