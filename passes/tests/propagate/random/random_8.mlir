module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg1: tensor<i32>) -> tensor<4xf32> {
    %0 = stablehlo.slice %arg0 [3:4] : (tensor<4xf32>) -> tensor<1xf32>
    %1 = sdy.propagation_barrier %0 allowed_direction=FORWARD : tensor<1xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2:3 = stablehlo.while(%iterArg = %c, %iterArg_1 = %1, %iterArg_2 = %arg0) : tensor<i32>, tensor<1xf32>, tensor<4xf32>
    cond {
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %9 = stablehlo.compare LT, %iterArg, %c_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = stablehlo.broadcast_in_dim %iterArg_2, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %10 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %10, %iterArg_1, %iterArg_2 : tensor<i32>, tensor<1xf32>, tensor<4xf32>
    }
    %3 = stablehlo.multiply %2#1, %1 : tensor<1xf32>
    %4 = stablehlo.maximum %2#2, %2#2 : tensor<4xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<1xf32>) -> tensor<4x1xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %6:3 = stablehlo.while(%iterArg = %c_0, %iterArg_1 = %4, %iterArg_2 = %4) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    cond {
      %c_3 = stablehlo.constant dense<3> : tensor<i32>
      %9 = stablehlo.compare LT, %iterArg, %c_3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = stablehlo.maximum %3, %2#1 : tensor<1xf32>
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %10 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      stablehlo.return %10, %iterArg_2, %iterArg_2 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    %7 = stablehlo.reshape %6#1 : (tensor<4xf32>) -> tensor<4xf32>
    %8 = stablehlo.maximum %6#2, %7 : tensor<4xf32>
    return %6#2 : tensor<4xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   stablehlo.slice -
//   sdy.propagation_barrier -
//   stablehlo.while - - -
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.maximum -
//   stablehlo.while - - -
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   func.return
