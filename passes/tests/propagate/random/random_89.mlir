module {
  sdy.mesh @mesh = <["x"=8]>
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"x"}>}, %arg2: tensor<i32>) -> tensor<3x8xf32> {
    %0 = sdy.sharding_constraint %arg0 <@mesh, [{}, {"x", ?}]> : tensor<3x4xf32>
    %1 = stablehlo.add %0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {?}], replicated={"x"}>]>} : tensor<3x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf32>
    %2 = stablehlo.add %cst, %cst : tensor<3x4xf32>
    %3 = stablehlo.add %1, %cst : tensor<3x4xf32>
    %4 = stablehlo.concatenate %cst, %2, dim = 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
    %5 = stablehlo.multiply %2, %1 : tensor<3x4xf32>
    return %4 : tensor<3x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 -
//   result 0 -
//   stablehlo.add -
//   stablehlo.concatenate -
//   func.return
