module {
  sdy.mesh @mesh = <["x"=4, "y"=3, "z"=3]>
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"z"}], replicated={"y"}>}, %arg1: tensor<i32>) -> tensor<16x16xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<1x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = "stablehlo.select_and_scatter"(%arg0, %cst, %cst_0) <{padding = dense<[[3, 4], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 8, 16>, window_strides = array<i64: 8, 2>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %9 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %9 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x16xf32>, tensor<1x1xf32>, tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.concatenate %0, %0, dim = 0 : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
    %2 = sdy.reshard %arg0 <@mesh, [{}, {}], replicated={"y"}, unreduced={"x", "z"}> : tensor<8x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %1) : tensor<i32>, tensor<16x16xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %9 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = stablehlo.add %arg0, %2 : tensor<8x16xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %10 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %10, %iterArg_1 : tensor<i32>, tensor<16x16xf32>
    }
    %4 = stablehlo.iota dim = 1 : tensor<16x16xf32>
    %5:2 = stablehlo.optimization_barrier %2, %3#1 : tensor<8x16xf32>, tensor<16x16xf32>
    %6 = stablehlo.convert %3#1 : (tensor<16x16xf32>) -> tensor<16x16xf64>
    %7 = stablehlo.convert %6 : (tensor<16x16xf64>) -> tensor<16x16xf32>
    %8 = stablehlo.add %7, %7 : tensor<16x16xf32>
    return %8 : tensor<16x16xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {"z"}]>
// 2 <@mesh, [{}, {}], unreduced={"x", "z"}>
// 3 <@mesh, []>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   stablehlo.select_and_scatter 1
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.concatenate 1
//   sdy.replicated_to_unreduced 2
//   stablehlo.while 3 1
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.convert 1
//   stablehlo.convert 1
//   stablehlo.add 1
//   func.return
