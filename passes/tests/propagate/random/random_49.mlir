module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<i32>) -> tensor<2x4xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.compare LT, %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %2 = stablehlo.select %1, %0, %0 : tensor<4x8xi1>, tensor<4x8xf32>
    %3:2 = stablehlo.optimization_barrier %arg0, %2 : tensor<8xf32>, tensor<4x8xf32>
    %4 = stablehlo.concatenate %0, %0, %3#1, dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x24xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{?}, {}], replicated={"x"}> : tensor<4x24xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %6:2 = stablehlo.while(%iterArg = %c, %iterArg_3 = %3#0) : tensor<i32>, tensor<8xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %13 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %13 = sdy.propagation_barrier %3#0 allowed_direction=FORWARD : tensor<8xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
      %15 = stablehlo.add %14, %14 : tensor<8xf32>
      %16 = stablehlo.reshape %5 : (tensor<4x24xf32>) -> tensor<4x24xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %17, %3#0 : tensor<i32>, tensor<8xf32>
    }
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.dynamic_slice %3#1, %c_0, %c_1, sizes = [2, 4] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
    %8 = stablehlo.maximum %7, %7 : tensor<2x4xf32>
    %9:2 = stablehlo.optimization_barrier %6#1, %8 : tensor<8xf32>, tensor<2x4xf32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %10:2 = stablehlo.while(%iterArg = %c_2, %iterArg_3 = %5) : tensor<i32>, tensor<4x24xf32>
    cond {
      %c_4 = stablehlo.constant dense<3> : tensor<i32>
      %13 = stablehlo.compare LT, %iterArg, %c_4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %13 = stablehlo.exponential %9#1 : tensor<2x4xf32>
      %14 = stablehlo.iota dim = 1 : tensor<2x4xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %15 = stablehlo.add %iterArg, %c_4 : tensor<i32>
      stablehlo.return %15, %iterArg_3 : tensor<i32>, tensor<4x24xf32>
    }
    %11 = stablehlo.dot_general %9#1, %7, contracting_dims = [0] x [0] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %12 = stablehlo.add %10#1, %4 : tensor<4x24xf32>
    return %9#1 : tensor<2x4xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   stablehlo.broadcast_in_dim -
//   stablehlo.compare -
//   stablehlo.select -
//   stablehlo.optimization_barrier - -
//   stablehlo.while - -
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.dynamic_slice -
//   stablehlo.maximum -
//   stablehlo.optimization_barrier - -
//   func.return
