module {
  sdy.mesh @mesh = <["x"=2, "y"=2]>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, %arg1: tensor<16x12x8xf32>, %arg2: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<i32>) -> (tensor<1x1x2x1xf32>, tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x", ?}]>}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %arg2, %arg2, %c : (tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> tensor<2xf32>
    %1 = stablehlo.slice %arg1 [0:16, 0:12, 0:8] : (tensor<16x12x8xf32>) -> tensor<16x12x8xf32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %2 = "stablehlo.case"(%c_0) ({
      %10 = stablehlo.add %arg2, %arg2 : tensor<2xf32>
      %11 = stablehlo.reshape %arg2 : (tensor<2xf32>) -> tensor<2x1xf32>
      %12 = stablehlo.add %10, %10 : tensor<2xf32>
      stablehlo.return %arg2 : tensor<2xf32>
    }, {
      %10 = stablehlo.iota dim = 0 : tensor<2xf32>
      stablehlo.return %arg2 : tensor<2xf32>
    }) : (tensor<i32>) -> tensor<2xf32>
    %3 = stablehlo.reshape %2 : (tensor<2xf32>) -> tensor<1x1x2x1xf32>
    %4 = stablehlo.transpose %arg1, dims = [1, 2, 0] : (tensor<16x12x8xf32>) -> tensor<12x8x16xf32>
    %5 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<2xf32>) -> tensor<8x2xf32>
    %6 = stablehlo.exponential %3 : tensor<1x1x2x1xf32>
    %7 = stablehlo.reshape %5 : (tensor<8x2xf32>) -> tensor<16xf32>
    %8 = stablehlo.reshape %4 : (tensor<12x8x16xf32>) -> tensor<24x64xf32>
    %9 = stablehlo.maximum %7, %7 : tensor<16xf32>
    return %6, %5 : tensor<1x1x2x1xf32>, tensor<8x2xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{"y"}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 -
//   result 0 -
//   result 1 2
//   stablehlo.dynamic_update_slice 0
//   stablehlo.case -
//     stablehlo.return
//     stablehlo.return
//   stablehlo.reshape -
//   stablehlo.broadcast_in_dim 2
//   stablehlo.exponential -
//   func.return
