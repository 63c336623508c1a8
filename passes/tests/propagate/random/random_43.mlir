module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<12x4x2xf32>, %arg2: tensor<4x3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {?}], replicated={"x"}>}, %arg3: tensor<3x16xf32>, %arg4: tensor<i32>) -> (tensor<2x2x12xf32>, tensor<3x16xf32>, tensor<4x3x4xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<3x16xf32>) -> tensor<3x16x2xf32>
    %1 = sdy.sharding_constraint %arg2 <@mesh, [{"x"}, {?}, {?}]> : tensor<4x3x4xf32>
    %2 = stablehlo.maximum %0, %0 : tensor<3x16x2xf32>
    %3:2 = stablehlo.optimization_barrier %arg3, %1 : tensor<3x16xf32>, tensor<4x3x4xf32>
    %4 = stablehlo.compare LT, %3#1, %arg2 : (tensor<4x3x4xf32>, tensor<4x3x4xf32>) -> tensor<4x3x4xi1>
    %5 = stablehlo.select %4, %3#1, %arg2 : tensor<4x3x4xi1>, tensor<4x3x4xf32>
    %6 = stablehlo.reshape %3#0 : (tensor<3x16xf32>) -> tensor<2x2x12xf32>
    %7 = stablehlo.multiply %3#0, %arg0 : tensor<3x16xf32>
    return %6, %3#0, %1 : tensor<2x2x12xf32>, tensor<3x16xf32>, tensor<4x3x4xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {}, {}]>
// 2 <@mesh, [{"x"}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 -
//   arg 4 -
//   result 0 -
//   result 1 -
//   result 2 1
//   sdy.reshard 2
//   stablehlo.optimization_barrier 0 2
//   stablehlo.reshape -
//   func.return
