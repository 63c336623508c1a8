module {
  sdy.mesh @mesh = <["x"=3, "y"=6, "z"=3]>
  func.func public @main(%arg0: tensor<6x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"y", ?}, {"x", ?}]>}, %arg1: tensor<i32>) -> tensor<12x2x4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<6x2x4xf32>
    %1:2 = stablehlo.optimization_barrier %arg0, %arg0 : tensor<6x2x4xf32>, tensor<6x2x4xf32>
    %2 = stablehlo.concatenate %0, %1#1, dim = 0 : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<12x2x4xf32>
    %3 = stablehlo.reshape %1#0 : (tensor<6x2x4xf32>) -> tensor<2x3x8xf32>
    return %2 : tensor<12x2x4xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}]>
// 1 <@mesh, [{}, {"y"}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   stablehlo.add 1
//   stablehlo.optimization_barrier 1 1
//   stablehlo.concatenate 1
//   func.return
