module {
  sdy.mesh @mesh = <["x"=4, "y"=2, "z"=4]>
  func.func public @main(%arg0: tensor<16x3xf32>, %arg1: tensor<i32>) -> (tensor<3x2xf32>, tensor<16x3xf32>, tensor<16x3xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {}], replicated={"x", "y"}> : tensor<16x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<16x3xf32>) -> tensor<48xf32>
    %2 = stablehlo.maximum %1, %1 : tensor<48xf32>
    %3 = stablehlo.tanh %0 : tensor<16x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %4:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %1) : tensor<i32>, tensor<48xf32>
    cond {
      %c_1 = stablehlo.constant dense<3> : tensor<i32>
      %10 = stablehlo.compare LT, %iterArg, %c_1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    } do {
      %10 = stablehlo.reshape %iterArg_0 : (tensor<48xf32>) -> tensor<16x1x3x1xf32>
      %11 = stablehlo.add %3, %3 : tensor<16x3xf32>
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %12 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      stablehlo.return %12, %iterArg_0 : tensor<i32>, tensor<48xf32>
    }
    %5 = "stablehlo.sort"(%1) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %10 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %10 : tensor<i1>
    }) : (tensor<48xf32>) -> tensor<48xf32>
    %6 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<16x3xf32>) -> tensor<16x2x3xf32>
    %7 = stablehlo.multiply %2, %5 : tensor<48xf32>
    %8 = stablehlo.dot_general %arg0, %6, batching_dims = [1] x [2], contracting_dims = [0] x [0] : (tensor<16x3xf32>, tensor<16x2x3xf32>) -> tensor<3x2xf32>
    %9 = stablehlo.exponential %2 : tensor<48xf32>
    return %8, %arg0, %3 : tensor<3x2xf32>, tensor<16x3xf32>, tensor<16x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   result 1 -
//   result 2 -
//   sdy.reshard 0
//   stablehlo.tanh -
//   stablehlo.broadcast_in_dim -
//   stablehlo.dot_general -
//   func.return
