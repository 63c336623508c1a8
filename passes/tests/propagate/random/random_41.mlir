module {
  sdy.mesh @mesh = <["x"=3, "y"=2]>
  func.func public @main(%arg0: tensor<8x12xf32>, %arg1: tensor<6xf32>, %arg2: tensor<4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {}, {"y", ?}]>}, %arg3: tensor<4x4x8xf32>, %arg4: tensor<i32>) -> (tensor<8x12xf32>, tensor<6xf32>, tensor<4x4x8xf32>) {
    %0 = stablehlo.add %arg1, %arg1 : tensor<6xf32>
    %1 = sdy.sharding_constraint %arg1 <@mesh, [{"y", "x", ?}]> : tensor<6xf32>
    %2 = stablehlo.negate %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<6xf32>
    %3 = stablehlo.broadcast_in_dim %arg3, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x6xf32>
    return %arg0, %arg1, %arg2 : tensor<8x12xf32>, tensor<6xf32>, tensor<4x4x8xf32>
  }
}

// expected
// 0 <@mesh, [{"y", "x"}]>
// 1 <@mesh, [{}, {}, {"y"}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   arg 4 -
//   result 0 -
//   result 1 0
//   result 2 1
//   func.return
