module {
  sdy.mesh @mesh = <["x"=3]>
  func.func public @main(%arg0: tensor<4xf32>, %arg1: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %arg2: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<i32>) -> (tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.slice %arg2 [0:2] : (tensor<2xf32>) -> tensor<2xf32>
    %1 = stablehlo.dot_general %arg1, %arg1, contracting_dims = [1] x [0] : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
    %2 = stablehlo.reshape %arg2 : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.add %arg2, %2 : tensor<2xf32>
    return %3, %arg2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{"x"}]>
//
// func main
//   arg 0 -
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 1
//   result 1 1
//   result 2 1
//   stablehlo.reshape 2
//   stablehlo.add 2
//   func.return
