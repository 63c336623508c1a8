module {
  sdy.mesh @mesh = <["x"=3, "y"=8, "z"=2]>
  func.func public @main(%arg0: tensor<8x2x8xf32>, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}]>}, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<i32>) -> (tensor<8xf32>, tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x", ?}, {?}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_2 = %arg1, %iterArg_3 = %arg2) : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %12 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %12 : tensor<i1>
    } do {
      %c_4 = stablehlo.constant dense<0> : tensor<i32>
      %12 = stablehlo.dynamic_slice %iterArg_2, %c_4, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
      %13 = stablehlo.slice %12 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %14 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], replicated={"x"}>]>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
      %c_5 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg, %c_5 : tensor<i32>
      stablehlo.return %15, %iterArg_3, %iterArg_2 : tensor<i32>, tensor<8xf32>, tensor<8xf32>
    }
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg2, %c_0, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
    %2 = stablehlo.concatenate %1, %1, %0#1, dim = 0 : (tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<16xf32>
    %3 = stablehlo.slice %0#1 [0:8] : (tensor<8xf32>) -> tensor<8xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{"z"}], replicated={"x"}> : tensor<8xf32>
    %5 = stablehlo.iota dim = 0 : tensor<16xf32>
    %6 = stablehlo.add %0#2, %4 : tensor<8xf32>
    %7 = stablehlo.transpose %arg0, dims = [1, 0, 2] : (tensor<8x2x8xf32>) -> tensor<2x8x8xf32>
    %8 = stablehlo.iota dim = 0 : tensor<8xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.dynamic_slice %8, %c_1, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
    %10 = call @f0(%8) : (tensor<8xf32>) -> tensor<1x8xf32>
    %11 = stablehlo.dot_general %arg0, %arg0, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<8x2x8xf32>, tensor<8x2x8xf32>) -> tensor<8x8x8xf32>
    return %8, %11 : tensor<8xf32>, tensor<8x8x8xf32>
  }
  func.func private @f0(%arg0: tensor<8xf32>) -> tensor<1x8xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.add %0, %0 : tensor<8xf32>
    %2 = stablehlo.reshape %arg0 : (tensor<8xf32>) -> tensor<1x8xf32>
    return %2 : tensor<1x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{"z"}]>
// 2 <@mesh, [{}, {"x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 1
//   arg 3 -
//   result 0 -
//   result 1 0
//   stablehlo.iota -
//   stablehlo.dot_general 2
//   func.return
