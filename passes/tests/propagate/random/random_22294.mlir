module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=4]>
  func.func public @main(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y"}], replicated={"x"}>}, %arg1: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg2: tensor<2xf32>, %arg3: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg4: tensor<i32>) -> (tensor<4x4xf32>, tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>}) {
    %0 = stablehlo.slice %arg0 [3:4, 0:16] : (tensor<4x16xf32>) -> tensor<1x16xf32>
    %1 = stablehlo.slice %arg0 [0:3, 0:16] : (tensor<4x16xf32>) -> tensor<3x16xf32>
    %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x16xf32>, tensor<3x16xf32>) -> tensor<4x16xf32>
    %3 = stablehlo.iota dim = 0 : tensor<2xf32>
    sdy.sharding_group %2 group_id=5 : tensor<4x16xf32>
    %4 = stablehlo.concatenate %3, %arg2, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<4x16xf32>
    %5 = stablehlo.add %2, %cst : tensor<4x16xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{"y"}, {?}], replicated={"x"}> : tensor<4x16xf32>
    %7 = stablehlo.dot_general %2, %cst, contracting_dims = [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
    %8 = stablehlo.iota dim = 0 : tensor<1xi32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<2x4xf32>
    %9 = "stablehlo.scatter"(%7, %8, %cst_0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0]>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %17 = stablehlo.maximum %arg5, %arg6 : tensor<f32>
      stablehlo.return %17 : tensor<f32>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}]>]>} : (tensor<4x4xf32>, tensor<1xi32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %10 = stablehlo.reshape %6 : (tensor<4x16xf32>) -> tensor<64xf32>
    %11 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %12:2 = stablehlo.custom_call @PartialReduce(%9, %11, %cst_1, %c) : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x4xf32>, tensor<4x4xi32>)
    %13 = stablehlo.transpose %arg0, dims = [0, 1] : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %14 = stablehlo.multiply %12#0, %7 : tensor<4x4xf32>
    %15 = stablehlo.slice %arg3 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
    %16 = sdy.sharding_constraint %14 <@mesh, [{}, {"x", ?}]> : tensor<4x4xf32>
    return %14, %10 : tensor<4x4xf32>, tensor<64xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{"y"}, {"x"}]>
// 3 <@mesh, [{"y", "x"}]>
// 4 <@mesh, [{"y"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 1
//   arg 4 -
//   result 0 2
//   result 1 3
//   stablehlo.slice 0
//   stablehlo.slice 0
//   stablehlo.concatenate 0
//   sdy.reshard 4
//   stablehlo.add 4
//   sdy.reshard 4
//   stablehlo.dot_general 2
//   stablehlo.iota -
//   stablehlo.scatter 2
//     stablehlo.maximum -
//     stablehlo.return
//   stablehlo.reshape 3
//   stablehlo.iota 2
//   stablehlo.custom_call 2 2
//   stablehlo.multiply 2
//   func.return
