module {
  sdy.mesh @mesh = <["x"=3, "y"=3]>
  func.func public @main(%arg0: tensor<8x12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}, {"y"}]>}, %arg1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}], replicated={"y"}>}, %arg2: tensor<8x12x6xf32>, %arg3: tensor<8x8xf32>, %arg4: tensor<i32>) -> tensor<8x12x6xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<8x12x6xf32>
    %1 = stablehlo.concatenate %arg2, %0, %arg2, dim = 2 : (tensor<8x12x6xf32>, tensor<8x12x6xf32>, tensor<8x12x6xf32>) -> tensor<8x12x18xf32>
    %2 = stablehlo.reverse %0, dims = [0, 1, 2] : tensor<8x12x6xf32>
    %3 = stablehlo.dynamic_update_slice %arg3, %arg1, %arg4, %arg4 : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    sdy.sharding_group %2 group_id=5 : tensor<8x12x6xf32>
    sdy.sharding_group %0 group_id=5 : tensor<8x12x6xf32>
    %4 = sdy.sharding_constraint %2 <@mesh, [{}, {?}, {"x", ?}]> : tensor<8x12x6xf32>
    %5 = stablehlo.broadcast_in_dim %3, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<8x8x8xf32>
    return %2 : tensor<8x12x6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {"y"}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   arg 4 -
//   result 0 0
//   stablehlo.exponential 0
//   stablehlo.reverse 0
//   func.return
