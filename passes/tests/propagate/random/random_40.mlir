module {
  sdy.mesh @mesh = <["x"=4, "y"=4]>
  func.func public @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {"y":(2)2}]>}, %arg2: tensor<i32>) -> (tensor<4x8x8xf32>, tensor<4x8x8xf32>, tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p1, {"y":(2)2, ?}p2]>}) {
    %0 = stablehlo.reshape %arg1 : (tensor<8x8xf32>) -> tensor<2x16x2xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
    %2 = stablehlo.slice %arg1 [0:2, 0:8] : (tensor<8x8xf32>) -> tensor<2x8xf32>
    %3 = stablehlo.dot_general %2, %2, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8xf32>
    return %1, %1, %arg1 : tensor<4x8x8xf32>, tensor<4x8x8xf32>, tensor<8x8xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {"y":(2)2}]>
// 1 <@mesh, [{}, {"x"}, {}]>
// 2 <@mesh, [{"x"}, {}]>
// 3 <@mesh, [{}, {"x"}, {"y":(2)2}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 1
//   result 1 1
//   result 2 2
//   stablehlo.broadcast_in_dim 3
//   func.return
