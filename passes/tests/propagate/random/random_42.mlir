module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=6]>
  func.func public @main(%arg0: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<i32>) -> tensor<f32> {
    %0 = stablehlo.iota dim = 0 : tensor<12xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<12xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.reshape %0 : (tensor<12xf32>) -> tensor<12xf32>
    %3:2 = stablehlo.optimization_barrier %1, %1 : tensor<f32>, tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.pad %arg0, %cst_0, low = [0], high = [1], interior = [0] : (tensor<12xf32>, tensor<f32>) -> tensor<13xf32>
    sdy.sharding_group %4 group_id=11 : tensor<13xf32>
    %5 = stablehlo.maximum %3#1, %3#1 : tensor<f32>
    return %3#1 : tensor<f32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   stablehlo.iota -
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.optimization_barrier - -
//   func.return
