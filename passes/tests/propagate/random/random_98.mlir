module {
  sdy.mesh @mesh = <["x"=4, "y"=8]>
  func.func public @main(%arg0: tensor<3x16xf32>, %arg1: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg2: tensor<3x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}p0]>}, %arg3: tensor<12x4xf32>, %arg4: tensor<i32>) -> tensor<6x4x6xf32> {
    %0 = stablehlo.slice %arg2 [0:1, 15:16] : (tensor<3x16xf32>) -> tensor<1x1xf32>
    %1 = stablehlo.concatenate %arg2, %arg2, %arg0, dim = 1 : (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>) -> tensor<3x48xf32>
    %2 = stablehlo.sine %1 : tensor<3x48xf32>
    %3 = stablehlo.reshape %1 : (tensor<3x48xf32>) -> tensor<6x4x6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%2 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<3x48xf32>, tensor<f32>) -> tensor<3xf32>
    sdy.sharding_group %1 group_id=10 : tensor<3x48xf32>
    %5 = stablehlo.reshape %4 : (tensor<3xf32>) -> tensor<3x1xf32>
    %6 = stablehlo.slice %5 [0:3, 0:1] : (tensor<3x1xf32>) -> tensor<3x1xf32>
    return %3 : tensor<6x4x6xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x"}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {}, {}]>
// 3 <@mesh, [{}, {"x":(2)2}, {}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 0
//   arg 3 -
//   arg 4 -
//   result 0 2
//   stablehlo.concatenate 0
//   stablehlo.reshape 3
//   func.return
