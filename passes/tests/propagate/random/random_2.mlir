module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p2, {}]>}, %arg1: tensor<6x2xf32>, %arg2: tensor<16x8xf32>, %arg3: tensor<i32>) -> (tensor<6x2xf32>, tensor<3x1xf32>) {
    %0 = stablehlo.reshape %arg2 : (tensor<16x8xf32>) -> tensor<1x16x8xf32>
    %1 = stablehlo.exponential %arg1 : tensor<6x2xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %1, %c, %c_0, sizes = [3, 1] : (tensor<6x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x1xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %3:3 = stablehlo.while(%iterArg = %c_1, %iterArg_2 = %arg2, %iterArg_3 = %2) : tensor<i32>, tensor<16x8xf32>, tensor<3x1xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %9 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = stablehlo.transpose %iterArg_3, dims = [0, 1] : (tensor<3x1xf32>) -> tensor<3x1xf32>
      %10 = stablehlo.reshape %9 : (tensor<3x1xf32>) -> tensor<1x3x1x1xf32>
      %11 = stablehlo.reshape %10 : (tensor<1x3x1x1xf32>) -> tensor<1x3x1xf32>
      %12 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"x"}p0]> : tensor<6x2xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %13, %iterArg_2, %iterArg_3 : tensor<i32>, tensor<16x8xf32>, tensor<3x1xf32>
    }
    %4 = sdy.propagation_barrier %3#1 allowed_direction=NONE : tensor<16x8xf32>
    %5 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %9 = stablehlo.compare LT, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<6x2xf32>) -> tensor<6x2xf32>
    %6 = sdy.propagation_barrier %4 allowed_direction=NONE : tensor<16x8xf32>
    %7 = stablehlo.dot_general %3#2, %2, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<1xf32>
    %8 = stablehlo.concatenate %4, %arg2, dim = 0 : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    return %5, %2 : tensor<6x2xf32>, tensor<3x1xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 -
//   arg 3 -
//   result 0 0
//   result 1 -
//   stablehlo.exponential -
//   stablehlo.dynamic_slice -
//   stablehlo.sort 0
//     stablehlo.compare -
//     stablehlo.return
//   func.return
