module {
  sdy.mesh @mesh = <["x"=8, "y"=3, "z"=4]>
  func.func public @main(%arg0: tensor<2x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}p1]>}, %arg1: tensor<2x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg2: tensor<i32>) -> (tensor<2x12xf32>, tensor<2x12xf32>) {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{"y", "z", "x", ?}, {?}]> : tensor<2x12xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<2x12xf32>) -> tensor<2x6x12xf32>
    sdy.sharding_group %0 group_id=3 : tensor<2x12xf32>
    sdy.sharding_group %arg0 group_id=3 : tensor<2x12xf32>
    %2 = call @f0(%0, %0) : (tensor<2x12xf32>, tensor<2x12xf32>) -> tensor<2x12xf32>
    return %2, %0 : tensor<2x12xf32>, tensor<2x12xf32>
  }
  func.func private @f0(%arg0: tensor<2x12xf32>, %arg1: tensor<2x12xf32>) -> tensor<2x12xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<2x12xf32>
    %1 = stablehlo.reverse %arg1, dims = [0] : tensor<2x12xf32>
    return %1 : tensor<2x12xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"x":(1)2}, {}]>
// 2 <@mesh, [{"y", "z", "x"}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   result 0 0
//   result 1 0
//   sdy.reshard 2
//   sdy.reshard 2
//   sdy.reshard 2
//   sdy.reshard 0
//   sdy.reshard 0
//   func.call @f0 0
//   func.return
// func f0
//   arg 0 0
//   arg 1 0
//   result 0 0
//   stablehlo.reverse 2
//   func.return
