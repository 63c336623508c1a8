module {
  sdy.mesh @mesh = <["x"=2, "y"=4, "z"=6]>
  func.func public @main(%arg0: tensor<3x8xf32>, %arg1: tensor<3x8xf32>, %arg2: tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"z", ?}]>}, %arg3: tensor<3x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"z", "x"}]>}, %arg4: tensor<i32>) -> (tensor<1x12x1x12xf32>, tensor<1xf32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %c, %c_0, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %1 = stablehlo.concatenate %0, %0, %0, dim = 1 : (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x12xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.dynamic_slice %arg3, %c_1, %c_2, sizes = [3, 4] : (tensor<3x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    %3 = stablehlo.transpose %1, dims = [1, 0] : (tensor<1x12xf32>) -> tensor<12x1xf32>
    %4 = stablehlo.transpose %arg0, dims = [0, 1] : (tensor<3x8xf32>) -> tensor<3x8xf32>
    %5 = stablehlo.maximum %1, %1 : tensor<1x12xf32>
    %6 = stablehlo.dot_general %5, %1, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<1x12xf32>, tensor<1x12xf32>) -> tensor<1xf32>
    %7 = stablehlo.concatenate %3, %3, dim = 0 : (tensor<12x1xf32>, tensor<12x1xf32>) -> tensor<24x1xf32>
    %8 = stablehlo.slice %5 [0:1, 3:7] : (tensor<1x12xf32>) -> tensor<1x4xf32>
    %9 = sdy.propagation_barrier %6 allowed_direction=BACKWARD : tensor<1xf32>
    %10 = stablehlo.concatenate %2, %arg3, dim = 1 : (tensor<3x4xf32>, tensor<3x8xf32>) -> tensor<3x12xf32>
    %11 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<1x12xf32>) -> tensor<1x12x2xf32>
    %12 = stablehlo.dot_general %11, %11, contracting_dims = [2] x [2] : (tensor<1x12x2xf32>, tensor<1x12x2xf32>) -> tensor<1x12x1x12xf32>
    return %12, %6 : tensor<1x12x1x12xf32>, tensor<1xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {"z":(1)2}]>
//
// func main
//   arg 0 -
//   arg 1 -
//   arg 2 0
//   arg 3 1
//   arg 4 -
//   result 0 -
//   result 1 -
//   stablehlo.dynamic_slice -
//   stablehlo.concatenate -
//   stablehlo.maximum -
//   stablehlo.dot_general -
//   stablehlo.broadcast_in_dim -
//   stablehlo.dot_general -
//   func.return
