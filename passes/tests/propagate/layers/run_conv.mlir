module @jit_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["b"=4, "c"=2]> {stablehlo.mesh = {axes = [{name = "b", size = 4 : i64}, {name = "c", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<3x3x64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"c"}]>}, %arg1: tensor<3x3x128x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"c"}]>}, %arg2: tensor<3x3x128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"c"}]>}, %arg3: tensor<3x3x256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"c"}]>}, %arg4: tensor<4x56x56x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}, {}, {}]>}, %arg5: tensor<4x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}]>}) -> (tensor<3x3x64x128xf32> {jax.result_info = "result[0][0]"}, tensor<3x3x128x128xf32> {jax.result_info = "result[0][1]"}, tensor<3x3x128x256xf32> {jax.result_info = "result[0][2]"}, tensor<3x3x256x256xf32> {jax.result_info = "result[0][3]"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg4, %arg0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x64xf32>, tensor<3x3x64x128xf32>) -> tensor<4x56x56x128xf32>
    %1 = call @relu(%0) : (tensor<4x56x56x128xf32>) -> tensor<4x56x56x128xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x56x56x128xf32>
    %3 = stablehlo.compare GT, %0, %2, FLOAT : (tensor<4x56x56x128xf32>, tensor<4x56x56x128xf32>) -> tensor<4x56x56x128xi1>
    %4 = stablehlo.convolution(%1, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x128xf32>, tensor<3x3x128x128xf32>) -> tensor<4x56x56x128xf32>
    %5 = call @relu(%4) : (tensor<4x56x56x128xf32>) -> tensor<4x56x56x128xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x56x56x128xf32>
    %7 = stablehlo.compare GT, %4, %6, FLOAT : (tensor<4x56x56x128xf32>, tensor<4x56x56x128xf32>) -> tensor<4x56x56x128xi1>
    %8 = stablehlo.convolution(%5, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x128xf32>, tensor<3x3x128x256xf32>) -> tensor<4x56x56x256xf32>
    %9 = call @relu_0(%8) : (tensor<4x56x56x256xf32>) -> tensor<4x56x56x256xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x56x56x256xf32>
    %11 = stablehlo.compare GT, %8, %10, FLOAT : (tensor<4x56x56x256xf32>, tensor<4x56x56x256xf32>) -> tensor<4x56x56x256xi1>
    %12 = stablehlo.convolution(%9, %arg3) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x256xf32>, tensor<3x3x256x256xf32>) -> tensor<4x56x56x256xf32>
    %13 = call @relu_0(%12) : (tensor<4x56x56x256xf32>) -> tensor<4x56x56x256xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x56x56x256xf32>
    %15 = stablehlo.compare GT, %12, %14, FLOAT : (tensor<4x56x56x256xf32>, tensor<4x56x56x256xf32>) -> tensor<4x56x56x256xi1>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%13 init: %cst_3) applies stablehlo.add across dimensions = [1, 2] : (tensor<4x56x56x256xf32>, tensor<f32>) -> tensor<4x256xf32>
    %cst_4 = stablehlo.constant dense<3.136000e+03> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %18 = stablehlo.divide %16, %17 : tensor<4x256xf32>
    %19 = stablehlo.subtract %18, %arg5 : tensor<4x256xf32>
    %20 = stablehlo.multiply %19, %19 : tensor<4x256xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %22 = stablehlo.multiply %21, %19 : tensor<4x256xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%20 init: %cst_6) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x256xf32>, tensor<f32>) -> tensor<f32>
    %cst_7 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %24 = stablehlo.divide %23, %cst_7 : tensor<f32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_9 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %25 = stablehlo.divide %cst_8, %cst_9 : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %27 = stablehlo.multiply %26, %22 : tensor<4x256xf32>
    %cst_10 = stablehlo.constant dense<3.136000e+03> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4x256xf32>
    %29 = stablehlo.divide %27, %28 : tensor<4x256xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 3] : (tensor<4x256xf32>) -> tensor<4x56x56x256xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x56x56x256xf32>
    %32 = stablehlo.select %15, %30, %31 : tensor<4x56x56x256xi1>, tensor<4x56x56x256xf32>
    %33 = stablehlo.convolution(%9, %32) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x256xf32>, tensor<4x56x56x256xf32>) -> tensor<3x3x256x256xf32>
    %34 = stablehlo.reverse %arg3, dims = [0, 1] : tensor<3x3x256x256xf32>
    %35 = stablehlo.convolution(%32, %34) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x256xf32>, tensor<3x3x256x256xf32>) -> tensor<4x56x56x256xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x56x56x256xf32>
    %37 = stablehlo.select %11, %35, %36 : tensor<4x56x56x256xi1>, tensor<4x56x56x256xf32>
    %38 = stablehlo.convolution(%5, %37) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x128xf32>, tensor<4x56x56x256xf32>) -> tensor<3x3x128x256xf32>
    %39 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<3x3x128x256xf32>
    %40 = stablehlo.convolution(%37, %39) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x256xf32>, tensor<3x3x128x256xf32>) -> tensor<4x56x56x128xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x56x56x128xf32>
    %42 = stablehlo.select %7, %40, %41 : tensor<4x56x56x128xi1>, tensor<4x56x56x128xf32>
    %43 = stablehlo.convolution(%1, %42) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x128xf32>, tensor<4x56x56x128xf32>) -> tensor<3x3x128x128xf32>
    %44 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x3x128x128xf32>
    %45 = stablehlo.convolution(%42, %44) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x128xf32>, tensor<3x3x128x128xf32>) -> tensor<4x56x56x128xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<4x56x56x128xf32>
    %47 = stablehlo.select %3, %45, %46 : tensor<4x56x56x128xi1>, tensor<4x56x56x128xf32>
    %48 = stablehlo.convolution(%arg4, %47) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<4x56x56x64xf32>, tensor<4x56x56x128xf32>) -> tensor<3x3x64x128xf32>
    %cst_15 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<3x3x64x128xf32>
    %50 = stablehlo.multiply %49, %48 : tensor<3x3x64x128xf32>
    %51 = stablehlo.subtract %arg0, %50 : tensor<3x3x64x128xf32>
    %cst_16 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %52 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<3x3x128x128xf32>
    %53 = stablehlo.multiply %52, %43 : tensor<3x3x128x128xf32>
    %54 = stablehlo.subtract %arg1, %53 : tensor<3x3x128x128xf32>
    %cst_17 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %55 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<3x3x128x256xf32>
    %56 = stablehlo.multiply %55, %38 : tensor<3x3x128x256xf32>
    %57 = stablehlo.subtract %arg2, %56 : tensor<3x3x128x256xf32>
    %cst_18 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<3x3x256x256xf32>
    %59 = stablehlo.multiply %58, %33 : tensor<3x3x256x256xf32>
    %60 = stablehlo.subtract %arg3, %59 : tensor<3x3x256x256xf32>
    return %51, %54, %57, %60, %24 : tensor<3x3x64x128xf32>, tensor<3x3x128x128xf32>, tensor<3x3x128x256xf32>, tensor<3x3x256x256xf32>, tensor<f32>
  }
  func.func private @relu(%arg0: tensor<4x56x56x128xf32>) -> tensor<4x56x56x128xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x56x56x128xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x56x56x128xf32>
    return %1 : tensor<4x56x56x128xf32>
  }
  func.func private @relu_0(%arg0: tensor<4x56x56x256xf32>) -> tensor<4x56x56x256xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x56x56x256xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x56x56x256xf32>
    return %1 : tensor<4x56x56x256xf32>
  }
}

// expected
// 0 <@mesh, [{}, {}, {}, {"c"}]>
// 1 <@mesh, [{"b"}, {}, {}, {}]>
// 2 <@mesh, [{"b"}, {}]>
// 3 <@mesh, [{"b"}, {}, {}, {"c"}]>
// 4 <@mesh, [{"b"}, {"c"}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 0
//   arg 3 0
//   arg 4 1
//   arg 5 2
//   result 0 0
//   result 1 0
//   result 2 0
//   result 3 0
//   result 4 -
//   stablehlo.convolution 3
//   func.call @relu 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.compare 3
//   stablehlo.convolution 3
//   func.call @relu 3
//   stablehlo.compare 3
//   stablehlo.convolution 3
//   func.call @relu_0_1 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.compare 3
//   stablehlo.convolution 3
//   func.call @relu_0_1 3
//   stablehlo.compare 3
//   stablehlo.reduce 4
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.broadcast_in_dim 4
//   stablehlo.divide 4
//   stablehlo.subtract 4
//   stablehlo.multiply 4
//   stablehlo.broadcast_in_dim 4
//   stablehlo.multiply 4
//   stablehlo.reduce -
//     stablehlo.add -
//     stablehlo.return
//   stablehlo.divide -
//   stablehlo.divide -
//   stablehlo.broadcast_in_dim 4
//   stablehlo.multiply 4
//   stablehlo.divide 4
//   stablehlo.broadcast_in_dim 3
//   stablehlo.select 3
//   stablehlo.convolution 0
//   stablehlo.reverse 0
//   stablehlo.convolution 3
//   stablehlo.select 3
//   stablehlo.convolution 0
//   stablehlo.reverse 0
//   stablehlo.convolution 3
//   stablehlo.select 3
//   stablehlo.convolution 0
//   stablehlo.reverse 0
//   stablehlo.convolution 3
//   stablehlo.select 3
//   stablehlo.convolution 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.multiply 0
//   stablehlo.subtract 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.multiply 0
//   stablehlo.subtract 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.multiply 0
//   stablehlo.subtract 0
//   stablehlo.broadcast_in_dim 0
//   stablehlo.multiply 0
//   stablehlo.subtract 0
//   func.return
// func relu
//   arg 0 3
//   result 0 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.maximum 3
//   func.return
// func relu_0_1
//   arg 0 3
//   result 0 3
//   stablehlo.broadcast_in_dim 3
//   stablehlo.maximum 3
//   func.return
