module {
  sdy.mesh @mesh = <["x"=2, "y"=6, "z"=2]>
  func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"x"}>}, %arg2: tensor<i32>) -> (tensor<16x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {?}]>}, tensor<16x5xf32>) {
    %0 = stablehlo.slice %arg1 [9:14, 0:16] : (tensor<16x16xf32>) -> tensor<5x16xf32>
    %1 = stablehlo.add %0, %0 : tensor<5x16xf32>
    %2 = stablehlo.add %arg0, %arg1 : tensor<16x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %3 = stablehlo.dynamic_slice %2, %c, %c_0, sizes = [8, 8] : (tensor<16x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %4 = stablehlo.transpose %1, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"z", ?}, {}]>]>} : (tensor<5x16xf32>) -> tensor<16x5xf32>
    %5 = stablehlo.maximum %4, %4 : tensor<16x5xf32>
    return %4, %4 : tensor<16x5xf32>, tensor<16x5xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}]>
// 1 <@mesh, [{"y":(1)2}, {}]>
// 2 <@mesh, [{"z"}, {}]>
// 3 <@mesh, [{}, {"z"}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 -
//   result 0 1
//   result 1 2
//   stablehlo.slice 3
//   stablehlo.add 3
//   stablehlo.transpose 2
//   func.return
