module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], replicated={"x"}>}, %arg1: tensor<4x4xf32>, %arg2: tensor<16xf32>, %arg3: tensor<i32>) -> (tensor<8x2x2xf32>, tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", ?}], replicated={"x"}>}) {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.multiply %arg1, %arg1 : tensor<4x4xf32>
    %2 = stablehlo.reshape %arg2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {?}, {}], replicated={"x"}>]>} : (tensor<16xf32>) -> tensor<1x16x1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %1, %iterArg_1 = %arg1) : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i32>
      %11 = stablehlo.compare LT, %iterArg, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %11 : tensor<i1>
    } do {
      %11 = stablehlo.maximum %arg1, %iterArg_1 : tensor<4x4xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %iterArg, %c_2 : tensor<i32>
      stablehlo.return %12, %iterArg_1, %arg1 : tensor<i32>, tensor<4x4xf32>, tensor<4x4xf32>
    }
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<16xf32>
    %4 = stablehlo.add %cst, %cst : tensor<16xf32>
    %5 = stablehlo.reshape %arg2 : (tensor<16xf32>) -> tensor<8x2xf32>
    %6 = stablehlo.maximum %4, %arg2 : tensor<16xf32>
    %7 = stablehlo.sine %5 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}], replicated={"x"}>]>} : tensor<8x2xf32>
    %8 = stablehlo.dot_general %3#2, %3#1, contracting_dims = [0] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %9 = stablehlo.slice %5 [5:8, 0:2] : (tensor<8x2xf32>) -> tensor<3x2xf32>
    %10 = stablehlo.broadcast_in_dim %7, dims = [0, 2] : (tensor<8x2xf32>) -> tensor<8x2x2xf32>
    return %10, %8 : tensor<8x2x2xf32>, tensor<4x4xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{"y"}, {}]>
// 2 <@mesh, [{}, {"y"}]>
// 3 <@mesh, []>
// 4 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   result 0 -
//   result 1 2
//   stablehlo.multiply 1
//   stablehlo.while 3 1 1
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.reshape -
//   stablehlo.sine 4
//   stablehlo.dot_general 2
//   stablehlo.broadcast_in_dim -
//   func.return
