module {
  sdy.mesh @mesh = <["x"=2, "y"=3, "z"=4]>
  func.func public @main(%arg0: tensor<12x2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y", ?}]>}, %arg1: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<8xf32>, %arg3: tensor<i32>) -> (tensor<4x4x6xf32>, tensor<12x2x2xf32>) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<12x2x2xf32>
    %1 = stablehlo.reshape %arg1 : (tensor<12x8xf32>) -> tensor<4x4x6xf32>
    %2 = stablehlo.negate %1 : tensor<4x4x6xf32>
    %3 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<8xf32>) -> tensor<6x8xf32>
    %4 = call @f0(%1) : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
    %5 = stablehlo.reverse %3, dims = [0] : tensor<6x8xf32>
    sdy.sharding_group %arg0 group_id=9 : tensor<12x2x2xf32>
    sdy.sharding_group %0 group_id=9 : tensor<12x2x2xf32>
    return %4, %0 : tensor<4x4x6xf32>, tensor<12x2x2xf32>
  }
  func.func private @f0(%arg0: tensor<4x4x6xf32>) -> tensor<4x4x6xf32> {
    %0 = stablehlo.maximum %arg0, %arg0 : tensor<4x4x6xf32>
    return %arg0 : tensor<4x4x6xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"x"}, {}, {"y"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   result 0 -
//   result 1 0
//   stablehlo.multiply 2
//   stablehlo.reshape -
//   func.call @f0 -
//   func.return
// func f0
//   arg 0 -
//   result 0 -
//   func.return
