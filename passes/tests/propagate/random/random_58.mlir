module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=6]>
  func.func public @main(%arg0: tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"x"}>}, %arg1: tensor<i32>) -> (tensor<16x12xf32>, tensor<16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"z"}], replicated={"x"}>}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<16x12xf32>) -> tensor<12x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %arg0, %c, %c_0, sizes = [16, 12] : (tensor<16x12xf32>, tensor<i32>, tensor<i32>) -> tensor<16x12xf32>
    %2 = stablehlo.add %arg0, %arg0 : tensor<16x12xf32>
    %3 = stablehlo.maximum %0, %0 : tensor<12x16xf32>
    return %2, %1, %3 : tensor<16x12xf32>, tensor<16x12xf32>, tensor<12x16xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{}, {"z":(1)2}]>
// 2 <@mesh, [{}, {"z"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 -
//   result 1 0
//   result 2 1
//   stablehlo.transpose 2
//   stablehlo.dynamic_slice -
//   stablehlo.add -
//   stablehlo.maximum 2
//   func.return
