module {
  sdy.mesh @mesh = <["a"=2, "b"=2, "c"=4]>
  func.func @main(%arg0: tensor<8x32x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"c"}, {}, {"b"}]>}, %arg1: tensor<f32>) -> (tensor<8x16x16x16xf32>, tensor<8x32x32x16xf32>) {
    %0 = "stablehlo.reduce_window"(%arg0, %arg1) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.maximum %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x32x32x16xf32>, tensor<f32>) -> tensor<8x16x16x16xf32>
    %1 = "stablehlo.select_and_scatter"(%arg0, %0, %arg1) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.compare GE, %arg2, %arg3 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }, {
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x32x32x16xf32>, tensor<8x16x16x16xf32>, tensor<f32>) -> tensor<8x32x32x16xf32>
    return %0, %1 : tensor<8x16x16x16xf32>, tensor<8x32x32x16xf32>
  }
}

// expected
// 0 <@mesh, [{"a"}, {"c"}, {}, {"b"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   result 0 0
//   result 1 0
//   stablehlo.reduce_window 0
//     stablehlo.maximum -
//     stablehlo.return
//   stablehlo.select_and_scatter 0
//     stablehlo.compare -
//     stablehlo.return
//     stablehlo.add -
//     stablehlo.return
//   func.return
