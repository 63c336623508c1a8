module {
  sdy.mesh @mesh = <["x"=3, "y"=6]>
  func.func public @main(%arg0: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg1: tensor<2xf32>, %arg2: tensor<2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x", ?}]>}, %arg3: tensor<i32>) -> (tensor<8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}, tensor<2xf32>, tensor<2xf32>) {
    %0 = stablehlo.reshape %arg2 : (tensor<2xf32>) -> tensor<2xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %1 = stablehlo.pad %arg1, %cst, low = [2], high = [4], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<8xf32>
    %2 = stablehlo.sine %arg2 : tensor<2xf32>
    %3 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<8x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.pad %1, %cst_0, low = [0], high = [1], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
    %5 = stablehlo.slice %1 [0:8] : (tensor<8xf32>) -> tensor<8xf32>
    return %3, %arg0, %2 : tensor<8x1xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{"y", "x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 0
//   arg 3 -
//   result 0 1
//   result 1 -
//   result 2 0
//   stablehlo.pad -
//   stablehlo.sine 2
//   stablehlo.reshape -
//   func.return
