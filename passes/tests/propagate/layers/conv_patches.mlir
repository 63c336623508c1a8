module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
  func.func @main(%arg0: tensor<8x32x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"c"}, {}, {"b"}]>}, %arg1: tensor<16x16x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}, {?}, {"c"}]>}) -> tensor<8x2x2x32xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [16, 16]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x32x16xf32>, tensor<16x16x16x32xf32>) -> tensor<8x2x2x32xf32>
    return %0 : tensor<8x2x2x32xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"c"}, {}, {"b"}]>
// 1 <@mesh, [{}, {"a"}, {"b"}, {"c"}]>
// 2 <@mesh, [{}, {}, {}, {"c"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   result 0 2
//   stablehlo.convolution 2
//   func.return
