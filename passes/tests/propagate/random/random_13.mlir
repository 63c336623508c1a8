module {
  sdy.mesh @mesh = <["x"=3, "y"=6]>
  func.func public @main(%arg0: tensor<4x6xf32>, %arg1: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}, %arg2: tensor<i32>) -> (tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}) {
    %0 = stablehlo.add %arg1, %arg1 : tensor<4x6xf32>
    %1 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
    %2 = sdy.sharding_constraint %0 <@mesh, [{}, {"y", ?}]> : tensor<4x6xf32>
    %3 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [1] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = stablehlo.concatenate %1, %3, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 1
//   stablehlo.dot_general -
//   stablehlo.dot_general -
//   stablehlo.concatenate -
//   func.return
