module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<6x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], replicated={"x"}>}, %arg2: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", ?}]>}, %arg4: tensor<i32>) -> tensor<8x48xf32> {
    %0 = stablehlo.dynamic_update_slice %arg1, %arg1, %arg4 : (tensor<8xf32>, tensor<8xf32>, tensor<i32>) -> tensor<8xf32>
    %1 = sdy.sharding_constraint %arg2 <@mesh, [{}, {?}]> : tensor<8x16xf32>
    %2 = stablehlo.concatenate %arg3, %arg3, %arg2, dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x48xf32>
    return %2 : tensor<8x48xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {"x"}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{"x"}, {}]>
// 3 <@mesh, [{}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   arg 3 3
//   arg 4 -
//   result 0 2
//   sdy.reshard 2
//   sdy.reshard 2
//   stablehlo.concatenate 2
//   func.return
