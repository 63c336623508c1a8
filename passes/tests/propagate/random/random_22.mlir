module {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<i32>) -> tensor<8xf32> {
    %0:2 = stablehlo.optimization_barrier %arg1, %arg0 : tensor<8xf32>, tensor<8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %0#0, %cst, low = [1], high = [4], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<13xf32>
    %2 = stablehlo.dynamic_update_slice %0#1, %0#1, %arg2 : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    %3 = call @f0(%1) : (tensor<13xf32>) -> tensor<1x1x1x13xf32>
    %4 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<13xf32>, tensor<8xf32>) -> tensor<21xf32>
    %5 = stablehlo.reshape %2 : (tensor<8xf32>) -> tensor<1x8xf32>
    return %0#0 : tensor<8xf32>
  }
  func.func private @f0(%arg0: tensor<13xf32>) -> tensor<1x1x1x13xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<13xf32>) -> tensor<1x1x1x13xf32>
    %1 = "stablehlo.sort"(%0) <{dimension = 3 : i64, is_stable = false}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.compare LT, %arg1, %arg2 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<1x1x1x13xf32>) -> tensor<1x1x1x13xf32>
    return %1 : tensor<1x1x1x13xf32>
  }
}

// expected
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 -
//   result 0 -
//   stablehlo.optimization_barrier - -
//   stablehlo.pad -
//   func.call @f0 -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   stablehlo.reshape -
//   stablehlo.sort -
//     stablehlo.compare -
//     stablehlo.return
//   func.return
