module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, %arg2: tensor<i32>) -> tensor<8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xf32>
    %1 = stablehlo.concatenate %arg0, %0, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<8x8xf32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %8 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %8 = stablehlo.transpose %iterArg_0, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %9 = stablehlo.dot_general %iterArg_0, %iterArg_0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
      %10 = stablehlo.transpose %8, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %11 = stablehlo.reshape %10 : (tensor<8x8xf32>) -> tensor<16x1x2x2xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %12, %10 : tensor<i32>, tensor<8x8xf32>
    }
    %3 = call @f0(%2#1) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = sdy.manual_computation(%2#1) in_shardings=[<@mesh, [{}, {"x"}]>] out_shardings=[<@mesh, [{}, {"x"}]>] manual_axes={"x"} (%arg3: tensor<8x2xf32>) {
      %c_0 = stablehlo.constant dense<0> : tensor<i32>
      %c_1 = stablehlo.constant dense<0> : tensor<i32>
      %8 = stablehlo.dynamic_update_slice %arg3, %arg3, %c_0, %c_1 : (tensor<8x2xf32>, tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2xf32>
      %9 = stablehlo.add %8, %8 : tensor<8x2xf32>
      sdy.return %arg3 : tensor<8x2xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.slice %0 [0:8, 0:8] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %6 = stablehlo.concatenate %5, %5, dim = 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%3 init: %cst) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>} : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    return %7 : tensor<8xf32>
  }
  func.func private @f0(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.slice %arg0 [6:7, 0:8] : (tensor<8x8xf32>) -> tensor<1x8xf32>
    %1 = stablehlo.transpose %0, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<1x8xf32>
    return %arg0 : tensor<8x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"x"}]>
// 3 <@mesh, []>
// 4 <@mesh, [{"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 2
//   stablehlo.while 3 0
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.transpose 4
//     stablehlo.transpose 0
//     stablehlo.add -
//     stablehlo.return
//   sdy.reshard 0
//   func.call @f0 0
//   stablehlo.reduce 2
//     stablehlo.add -
//     stablehlo.return
//   func.return
// func f0
//   arg 0 0
//   result 0 0
//   func.return
