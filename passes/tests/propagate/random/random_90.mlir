module {
  sdy.mesh @mesh = <["x"=6]>
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}, %arg1: tensor<16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"x"}]>}, %arg2: tensor<16x8xf32>, %arg3: tensor<i32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
    %0 = stablehlo.negate %arg2 : tensor<16x8xf32>
    %1:2 = stablehlo.optimization_barrier %0, %arg0 : tensor<16x8xf32>, tensor<16x8xf32>
    %2 = stablehlo.transpose %arg2, dims = [0, 1] : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %3 = sdy.sharding_constraint %1#1 <@mesh, [{}, {?}]> : tensor<16x8xf32>
    return %3, %arg2 : tensor<16x8xf32>, tensor<16x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"x":(1)2}]>
// 1 <@mesh, [{}, {"x":(1)3}]>
// 2 <@mesh, [{}, {}]>
// 3 <@mesh, [{}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 -
//   arg 3 -
//   result 0 2
//   result 1 -
//   stablehlo.negate -
//   stablehlo.optimization_barrier 2 3
//   sdy.reshard 3
//   func.return
