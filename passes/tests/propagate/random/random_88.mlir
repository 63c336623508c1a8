module {
  sdy.mesh @mesh = <["x"=2, "y"=3]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg1: tensor<i32>) -> tensor<1x1xf32> {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<16x4xf32>) -> tensor<4x16xf32>
    %1 = stablehlo.dot_general %arg0, %arg0, contracting_dims = [0] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}], replicated={"x", "y"}>]>} : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.add %1, %1 : tensor<4x4xf32>
    %3 = stablehlo.slice %1 [3:4, 3:4] : (tensor<4x4xf32>) -> tensor<1x1xf32>
    return %3 : tensor<1x1xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   stablehlo.dot_general 0
//   stablehlo.slice -
//   func.return
