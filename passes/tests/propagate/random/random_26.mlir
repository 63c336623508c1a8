module {
  sdy.mesh @mesh = <["x"=2, "y"=6, "z"=2]>
  func.func public @main(%arg0: tensor<2x4x12xf32>, %arg1: tensor<6x2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x", ?}], replicated={"z"}>}, %arg2: tensor<i32>) -> (tensor<6x2x6xf32>, tensor<6x2x6xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<6x2x6xf32>
    %0 = stablehlo.add %arg1, %cst {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}, {}, {"y", "x"}], replicated={"z"}>]>} : tensor<6x2x6xf32>
    %1 = stablehlo.add %cst, %cst : tensor<6x2x6xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"y", ?}, {}, {?}]>] out_shardings=[<@mesh, [{"y", ?}, {}, {?}]>] manual_axes={"y"} (%arg3: tensor<1x2x6xf32>) {
      %3 = stablehlo.concatenate %arg3, %arg3, dim = 2 : (tensor<1x2x6xf32>, tensor<1x2x6xf32>) -> tensor<1x2x12xf32>
      %4 = stablehlo.dot_general %3, %3, contracting_dims = [1] x [1] : (tensor<1x2x12xf32>, tensor<1x2x12xf32>) -> tensor<1x12x1x12xf32>
      %5 = stablehlo.sine %4 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x", "z", ?}, {?}, {?}]>]>} : tensor<1x12x1x12xf32>
      %6 = stablehlo.tanh %arg3 : tensor<1x2x6xf32>
      sdy.return %arg3 : tensor<1x2x6xf32>
    } : (tensor<6x2x6xf32>) -> tensor<6x2x6xf32>
    return %1, %cst : tensor<6x2x6xf32>, tensor<6x2x6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {"x"}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 -
//   result 0 -
//   result 1 -
//   stablehlo.add -
//   func.return
