module {
  sdy.mesh @mesh = <["x"=8, "y"=8]>
  func.func public @main(%arg0: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<i32>) -> (tensor<18xf32>, tensor<18xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %6 = stablehlo.compare LT, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : (tensor<6xf32>) -> tensor<6xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>]>} : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.concatenate %arg0, %arg0, %0, dim = 0 : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<18xf32>
    %3 = stablehlo.multiply %2, %2 : tensor<18xf32>
    %4:2 = stablehlo.optimization_barrier %1, %2 : tensor<f32>, tensor<18xf32>
    %5 = sdy.sharding_constraint %3 <@mesh, [{}], replicated={"x"}> : tensor<18xf32>
    return %5, %5 : tensor<18xf32>, tensor<18xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   result 1 -
//   stablehlo.sort 0
//     stablehlo.compare -
//     stablehlo.return
//   stablehlo.concatenate -
//   stablehlo.multiply 0
//   sdy.reshard 0
//   func.return
