module {
  sdy.mesh @mesh = <["x"=8, "y"=4]>
  func.func public @main(%arg0: tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y":(2)2}, {?}]>}, %arg1: tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, %arg2: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], unreduced={"x"}>}, %arg3: tensor<i32>) -> (tensor<2x1xf32>, tensor<3x1x4xf32>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<2x6xf32>) -> tensor<2x6x2xi16>
    %1 = stablehlo.bitcast_convert %0 : (tensor<2x6x2xi16>) -> tensor<2x6xf32>
    %2 = sdy.reshard %1 <@mesh, [{"y":(1)2, ?}, {}], unreduced={"x"}> : tensor<2x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x6xf32>
    %4 = stablehlo.add %3, %3 : tensor<2x6xf32>
    %5 = stablehlo.slice %3 [0:2, 5:6] : (tensor<2x6xf32>) -> tensor<2x1xf32>
    %6 = stablehlo.reshape %2 : (tensor<2x6xf32>) -> tensor<3x1x4xf32>
    %c = stablehlo.constant dense<0> : tensor<1xi32>
    %7 = "stablehlo.scatter"(%5, %c, %5) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1]>, unique_indices = false}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %8 = stablehlo.subtract %arg4, %arg5 : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<2x1xf32>, tensor<1xi32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    return %7, %6 : tensor<2x1xf32>, tensor<3x1x4xf32>
  }
}

// expected
// 0 <@mesh, [{"y":(2)2}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {}], unreduced={"x"}>
// 3 <@mesh, [{"y":(2)2}, {}, {}]>
// 4 <@mesh, [{"y":(1)2}, {}]>
// 5 <@mesh, [{"y":(1)2}, {}], unreduced={"x"}>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 -
//   result 0 -
//   result 1 -
//   stablehlo.bitcast_convert 3
//   stablehlo.bitcast_convert 0
//   sdy.reshard 4
//   sdy.replicated_to_unreduced 5
//   stablehlo.broadcast_in_dim -
//   stablehlo.slice -
//   stablehlo.slice -
//   stablehlo.reshape -
//   stablehlo.scatter -
//     stablehlo.subtract -
//     stablehlo.return
//   func.return
