module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}]>}, %arg2: tensor<i32>) -> (tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
    %0 = stablehlo.slice %arg1 [1:5, 0:2] : (tensor<8x4xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<4x2xf32>) -> tensor<4x2x8xf32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<4x2xf32>) -> tensor<6x4x2xf32>
    %3:2 = stablehlo.optimization_barrier %0, %arg1 : tensor<4x2xf32>, tensor<8x4xf32>
    return %1, %3#0, %0 : tensor<4x2x8xf32>, tensor<4x2xf32>, tensor<4x2xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{}, {}]>
// 3 <@mesh, [{"x"}, {}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 1
//   result 1 2
//   result 2 2
//   stablehlo.slice 0
//   stablehlo.broadcast_in_dim 3
//   stablehlo.optimization_barrier 0 0
//   func.return
