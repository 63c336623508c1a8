module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<8xf32>, %arg1: tensor<i32>) -> tensor<8xf32> {
    %0 = stablehlo.multiply %arg0, %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}]>]>} : tensor<8xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<8xf32>) -> tensor<8x1xf32>
    %2 = stablehlo.maximum %0, %0 : tensor<8xf32>
    %3 = stablehlo.compare LT, %2, %2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %4 = stablehlo.select %3, %2, %2 : tensor<8xi1>, tensor<8xf32>
    %5 = stablehlo.reverse %4, dims = [0] : tensor<8xf32>
    %6 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [1] : (tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
    %7 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<8xf32>
    return %7 : tensor<8xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   stablehlo.multiply 0
//   stablehlo.maximum 0
//   stablehlo.compare 0
//   stablehlo.select 0
//   stablehlo.reshape 0
//   func.return
