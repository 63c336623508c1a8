module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg1: tensor<i32>) -> (tensor<16xf32>, tensor<f32>) {
    %0 = stablehlo.add %arg0, %arg0 : tensor<16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %14 = stablehlo.maximum %0, %0 : tensor<16xf32>
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %15 = stablehlo.dynamic_slice %14, %c_2, sizes = [8] : (tensor<16xf32>, tensor<i32>) -> tensor<8xf32>
      stablehlo.return %14 : tensor<16xf32>
    }, {
      %c_2 = stablehlo.constant dense<0> : tensor<i32>
      %14 = stablehlo.dynamic_update_slice %0, %0, %c_2 : (tensor<16xf32>, tensor<16xf32>, tensor<i32>) -> tensor<16xf32>
      %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %15 = stablehlo.reduce(%14 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %14 : tensor<16xf32>
    }) : (tensor<i32>) -> tensor<16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3:3 = stablehlo.while(%iterArg = %c_0, %iterArg_2 = %2, %iterArg_3 = %1) : tensor<i32>, tensor<f32>, tensor<16xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %14 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %14 : tensor<i1>
    } do {
      %14 = stablehlo.add %arg0, %iterArg_3 : tensor<16xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %15, %iterArg_2, %arg0 : tensor<i32>, tensor<f32>, tensor<16xf32>
    }
    %4:2 = stablehlo.optimization_barrier %0, %3#2 : tensor<16xf32>, tensor<16xf32>
    sdy.sharding_group %4#1 group_id=30 : tensor<16xf32>
    sdy.sharding_group %4#0 group_id=30 : tensor<16xf32>
    %5 = stablehlo.reshape %1 : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %7 = stablehlo.add %4#0, %6 : tensor<16xf32>
    %8 = stablehlo.add %arg0, %6 : tensor<16xf32>
    %9 = sdy.sharding_constraint %7 <@mesh, [{"x"}], replicated={"y"}> : tensor<16xf32>
    %10 = stablehlo.multiply %6, %8 : tensor<16xf32>
    %11 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<1x16xf32>
    %12 = stablehlo.transpose %5, dims = [0, 1] : (tensor<1x16xf32>) -> tensor<1x16xf32>
    %13 = stablehlo.reshape %11 : (tensor<1x16xf32>) -> tensor<16xf32>
    return %13, %3#1 : tensor<16xf32>, tensor<f32>
  }
}

// expected
// 0 <@mesh, [{"x"}]>
// 1 <@mesh, []>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   result 1 -
//   stablehlo.add 0
//   stablehlo.case 0
//     stablehlo.maximum 0
//     stablehlo.return
//     stablehlo.dynamic_update_slice 0
//     stablehlo.return
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.while 1 1 0
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim -
//   stablehlo.reshape -
//   func.return
