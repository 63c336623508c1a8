module {
  sdy.mesh @mesh = <["x"=4, "y"=6, "z"=4]>
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<6x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}]>}, %arg2: tensor<4xf32>, %arg3: tensor<3x3xf32>, %arg4: tensor<i32>) -> tensor<3x3xf32> {
    %0 = stablehlo.transpose %arg3, dims = [0, 1] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<3x3xf32>) -> tensor<9xf32>
    %2 = stablehlo.maximum %arg3, %arg3 : tensor<3x3xf32>
    %3 = stablehlo.reverse %2, dims = [0, 1] : tensor<3x3xf32>
    %4 = stablehlo.transpose %3, dims = [0, 1] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %5 = call @f0(%2) : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %6:2 = stablehlo.optimization_barrier %3, %4 : tensor<3x3xf32>, tensor<3x3xf32>
    %7 = stablehlo.reverse %4, dims = [0, 1] : tensor<3x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.dynamic_slice %4, %c, %c_0, sizes = [1, 3] : (tensor<3x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %9 = stablehlo.transpose %7, dims = [1, 0] : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %10 = stablehlo.exponential %7 : tensor<3x3xf32>
    %11 = stablehlo.maximum %9, %6#1 : tensor<3x3xf32>
    return %11 : tensor<3x3xf32>
  }
  func.func private @f0(%arg0: tensor<3x3xf32>) -> tensor<3x3xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   arg 3 -
//   arg 4 -
//   result 0 -
//   stablehlo.maximum -
//   stablehlo.reverse -
//   stablehlo.transpose -
//   func.call @f0 -
//   stablehlo.optimization_barrier - -
//   stablehlo.reverse -
//   stablehlo.transpose -
//   stablehlo.maximum -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   stablehlo.multiply -
//   func.return
