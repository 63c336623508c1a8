module {
  sdy.mesh @mesh = <["x"=6, "y"=4, "z"=6]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}p3]>}, %arg1: tensor<i32>) -> tensor<8x8xf32> {
    %0 = stablehlo.maximum %arg0, %arg0 : tensor<8xf32>
    %1:2 = sdy.manual_computation(%arg0, %arg0) in_shardings=[<@mesh, [{}], replicated={"x", "z"}>, <@mesh, [{}], replicated={"x", "z"}>] out_shardings=[<@mesh, [{?}], replicated={"x", "z"}>, <@mesh, [{}], replicated={"x", "z"}>] manual_axes={"x", "z"} (%arg2: tensor<8xf32>, %arg3: tensor<8xf32>) {
      %14 = stablehlo.convert %arg3 : (tensor<8xf32>) -> tensor<8xi64>
      %15 = stablehlo.negate %14 : tensor<8xi64>
      %16 = stablehlo.convert %15 : (tensor<8xi64>) -> tensor<8xf32>
      %17 = stablehlo.broadcast_in_dim %arg3, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
      %18 = stablehlo.concatenate %arg3, %arg2, %16, dim = 0 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<24xf32>
      %19 = sdy.reshard %18 <@mesh, [{}]> : tensor<24xf32>
      sdy.return %18, %19 : tensor<24xf32>, tensor<24xf32>
    } : (tensor<8xf32>, tensor<8xf32>) -> (tensor<24xf32>, tensor<24xf32>)
    %2 = stablehlo.slice %0 [7:8] : (tensor<8xf32>) -> tensor<1xf32>
    %3 = stablehlo.multiply %arg0, %0 : tensor<8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %0, %iterArg_1 = %arg0) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %14 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14 = stablehlo.iota dim = 0 : tensor<1xi32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<4xf32>
      %15:2 = "stablehlo.scatter"(%arg0, %iterArg_0, %14, %cst, %cst_2) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = false}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<f32>):
        %18 = stablehlo.multiply %arg2, %arg4 : tensor<f32>
        %19 = stablehlo.multiply %arg3, %arg5 : tensor<f32>
        stablehlo.return %18, %19 : tensor<f32>, tensor<f32>
      }) : (tensor<8xf32>, tensor<8xf32>, tensor<1xi32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
      %16 = sdy.sharding_constraint %15#1 <@mesh, [{?}p1], unreduced={"y"}> : tensor<8xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %17, %15#0, %16 : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    }
    %5 = stablehlo.broadcast_in_dim %4#1, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
    %6 = sdy.manual_computation(%1#0) in_shardings=[<@mesh, [{"x", ?}]>] out_shardings=[<@mesh, [{"x", ?}]>] manual_axes={"x"} (%arg2: tensor<4xf32>) {
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %14 = "stablehlo.reduce_window"(%arg2, %cst) <{padding = dense<0> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 1>}> ({
      ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
        %15 = stablehlo.add %arg3, %arg4 : tensor<f32>
        stablehlo.return %15 : tensor<f32>
      }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
      sdy.return %arg2 : tensor<4xf32>
    } : (tensor<24xf32>) -> tensor<24xf32>
    %7 = sdy.sharding_constraint %4#1 <@mesh, [{?}p3], unreduced={"y"}> : tensor<8xf32>
    %8 = stablehlo.slice %7 [0:8] : (tensor<8xf32>) -> tensor<8xf32>
    %9 = stablehlo.iota dim = 0 : tensor<3xui64>
    %output_state, %output = stablehlo.rng_bit_generator %9, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<24xui32>)
    %10 = stablehlo.convert %output : (tensor<24xui32>) -> tensor<24xf32>
    %11 = stablehlo.transpose %5, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %12 = stablehlo.is_finite %11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}p1, {"y"}p0], replicated={"x"}>]>} : (tensor<8x8xf32>) -> tensor<8x8xi1>
    %13 = stablehlo.select %12, %11, %11 : tensor<8x8xi1>, tensor<8x8xf32>
    return %13 : tensor<8x8xf32>
  }
}

// expected
// 0 <@mesh, [{"y"}]>
// 1 <@mesh, [{}, {"y"}]>
// 2 <@mesh, []>
// 3 <@mesh, [{}], unreduced={"y"}>
// 4 <@mesh, [{}]>
// 5 <@mesh, [{"y"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 1
//   stablehlo.maximum 0
//   stablehlo.while 2 0 0
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.iota -
//     stablehlo.scatter 0 0
//       stablehlo.multiply -
//       stablehlo.multiply -
//       stablehlo.return
//     sdy.sharded_to_unreduced 3
//     sdy.all_gather 4
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 5
//   sdy.sharded_to_unreduced 3
//   stablehlo.transpose 1
//   stablehlo.is_finite 1
//   stablehlo.select 1
//   func.return
