module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
  func.func @main(%arg0: tensor<8x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}, {"c"}]>}, %arg1: tensor<3x4x32xf32>, %arg2: tensor<3x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"b"}, {}]>}) -> (tensor<8x30x32xf32>, tensor<4x30x32xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<8x32x16xf32>, tensor<3x4x32xf32>) -> tensor<8x30x32xf32>
    %1 = stablehlo.convolution(%arg0, %arg2) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<8x32x16xf32>, tensor<3x16x32xf32>) -> tensor<4x30x32xf32>
    return %0, %1 : tensor<8x30x32xf32>, tensor<4x30x32xf32>
  }
}

// expected
// 0 <@mesh, [{"a"}, {}, {"c"}]>
// 1 <@mesh, [{}, {}, {"c"}]>
// 2 <@mesh, [{}, {"b"}, {}]>
// 3 <@mesh, [{}, {}, {"a"}]>
//
// func main
//   arg 0 0
//   arg 1 1
//   arg 2 2
//   result 0 0
//   result 1 3
//   stablehlo.convolution 0
//   stablehlo.convolution 3
//   func.return
