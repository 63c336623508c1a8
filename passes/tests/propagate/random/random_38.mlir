module {
  sdy.mesh @mesh = <["x"=4, "y"=4, "z"=8]>
  func.func public @main(%arg0: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"z"}, {"y", ?}]>}, %arg1: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<2x4xf32>, %arg3: tensor<2x4xf32>, %arg4: tensor<i32>) -> (tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x4x4xf32>
    sdy.sharding_group %0 group_id=2 : tensor<2x4x4xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = "stablehlo.case"(%c) ({
      %4 = sdy.sharding_constraint %arg1 <@mesh, [{"z", "x":(1)2, "y"}, {}]> : tensor<2x4xf32>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %5 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
      %6 = stablehlo.sine %5 : tensor<f32>
      stablehlo.return %4 : tensor<2x4xf32>
    }, {
      %4 = sdy.sharding_constraint %arg1 <@mesh, [{"x":(1)2}, {}]> : tensor<2x4xf32>
      stablehlo.return %arg1 : tensor<2x4xf32>
    }) : (tensor<i32>) -> tensor<2x4xf32>
    %2 = stablehlo.multiply %0, %0 : tensor<2x4x4xf32>
    %3 = stablehlo.multiply %arg0, %1 : tensor<2x4xf32>
    return %2, %2, %arg1 : tensor<2x4x4xf32>, tensor<2x4x4xf32>, tensor<2x4xf32>
  }
}

// expected
// 0 <@mesh, [{"z":(1)2}, {"y"}]>
// 1 <@mesh, [{}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   arg 4 -
//   result 0 -
//   result 1 -
//   result 2 -
//   stablehlo.broadcast_in_dim -
//   stablehlo.multiply -
//   func.return
