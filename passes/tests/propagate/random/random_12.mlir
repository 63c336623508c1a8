module {
  sdy.mesh @mesh = <["x"=3, "y"=6]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}, %arg2: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}, %arg3: tensor<8xf32>, %arg4: tensor<i32>) -> (tensor<8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<8xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_slice %0, %c, sizes = [4] : (tensor<8xf32>, tensor<i32>) -> tensor<4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
    %2 = stablehlo.add %0, %cst : tensor<8xf32>
    %3 = stablehlo.add %cst, %cst : tensor<8xf32>
    %4 = stablehlo.reshape %cst : (tensor<8xf32>) -> tensor<8xf32>
    %5 = stablehlo.reshape %2 : (tensor<8xf32>) -> tensor<1x1x8x1xf32>
    %6 = stablehlo.compare LT, %4, %3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %7 = stablehlo.select %6, %4, %3 : tensor<8xi1>, tensor<8xf32>
    %8 = stablehlo.transpose %5, dims = [2, 3, 0, 1] : (tensor<1x1x8x1xf32>) -> tensor<8x1x1x1xf32>
    %9 = stablehlo.reshape %5 : (tensor<1x1x8x1xf32>) -> tensor<8xf32>
    %10 = stablehlo.iota dim = 0 : tensor<1x1x8x1xf32>
    return %7, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// expected
// 0 <@mesh, [{}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 0
//   arg 3 -
//   arg 4 -
//   result 0 -
//   result 1 0
//   stablehlo.add -
//   stablehlo.add -
//   stablehlo.reshape -
//   stablehlo.compare -
//   stablehlo.select -
//   func.return
