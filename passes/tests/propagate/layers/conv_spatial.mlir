module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
  func.func @main(%arg0: tensor<8x32x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"c"}, {}, {}]>}, %arg1: tensor<3x3x16x32xf32>) -> tensor<8x32x32x32xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x32x32x32xf32>
    return %0 : tensor<8x32x32x32xf32>
  }
}

// expected
// 0 <@mesh, [{"a"}, {"c"}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   stablehlo.convolution 0
//   func.return
