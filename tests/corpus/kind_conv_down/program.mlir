module @jit_conv_down attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<2x16x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}, %arg1: tensor<3x3x2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg2: tensor<3x3x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}, %arg3: tensor<2x4x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) -> (tensor<3x3x2x4xf32> {jax.result_info = "result[0]"}, tensor<3x3x4x4xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x16x16x2xf32>, tensor<3x3x2x4xf32>) -> tensor<2x8x8x4xf32>
    %cst = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<2x8x8x4xf32>
    %3 = stablehlo.maximum %0, %2 : tensor<2x8x8x4xf32>
    %4 = stablehlo.compare EQ, %0, %3, FLOAT : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %7 = stablehlo.select %4, %5, %6 : tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>
    %8 = stablehlo.compare EQ, %2, %3, FLOAT : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %11 = stablehlo.select %8, %9, %10 : tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>
    %12 = stablehlo.divide %7, %11 : tensor<2x8x8x4xf32>
    %13 = stablehlo.compare EQ, %2, %3, FLOAT : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %16 = stablehlo.select %13, %14, %15 : tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>
    %17 = stablehlo.compare EQ, %0, %3, FLOAT : (tensor<2x8x8x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x4xi1>
    %cst_6 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %20 = stablehlo.select %17, %18, %19 : tensor<2x8x8x4xi1>, tensor<2x8x8x4xf32>
    %21 = stablehlo.divide %16, %20 : tensor<2x8x8x4xf32>
    %22 = stablehlo.convolution(%3, %arg2) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x4x4x4xf32>
    %cst_8 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %24 = stablehlo.multiply %23, %22 : tensor<2x4x4x4xf32>
    %25 = stablehlo.maximum %22, %24 : tensor<2x4x4x4xf32>
    %26 = stablehlo.compare EQ, %22, %25, FLOAT : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xi1>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %29 = stablehlo.select %26, %27, %28 : tensor<2x4x4x4xi1>, tensor<2x4x4x4xf32>
    %30 = stablehlo.compare EQ, %24, %25, FLOAT : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xi1>
    %cst_11 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %33 = stablehlo.select %30, %31, %32 : tensor<2x4x4x4xi1>, tensor<2x4x4x4xf32>
    %34 = stablehlo.divide %29, %33 : tensor<2x4x4x4xf32>
    %35 = stablehlo.compare EQ, %24, %25, FLOAT : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xi1>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %38 = stablehlo.select %35, %36, %37 : tensor<2x4x4x4xi1>, tensor<2x4x4x4xf32>
    %39 = stablehlo.compare EQ, %22, %25, FLOAT : (tensor<2x4x4x4xf32>, tensor<2x4x4x4xf32>) -> tensor<2x4x4x4xi1>
    %cst_15 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %cst_16 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %42 = stablehlo.select %39, %40, %41 : tensor<2x4x4x4xi1>, tensor<2x4x4x4xf32>
    %43 = stablehlo.divide %38, %42 : tensor<2x4x4x4xf32>
    %44 = stablehlo.subtract %25, %arg3 : tensor<2x4x4x4xf32>
    %cst_17 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %46 = stablehlo.multiply %45, %44 : tensor<2x4x4x4xf32>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %48 = stablehlo.multiply %47, %46 : tensor<2x4x4x4xf32>
    %49 = stablehlo.multiply %48, %43 : tensor<2x4x4x4xf32>
    %50 = stablehlo.multiply %48, %34 : tensor<2x4x4x4xf32>
    %cst_19 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x4x4x4xf32>
    %52 = stablehlo.multiply %51, %49 : tensor<2x4x4x4xf32>
    %53 = stablehlo.add %50, %52 : tensor<2x4x4x4xf32>
    %54 = stablehlo.convolution(%3, %53) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<2x4x4x4xf32>) -> tensor<3x3x4x4xf32>
    %55 = stablehlo.reverse %arg2, dims = [0, 1] : tensor<3x3x4x4xf32>
    %56 = stablehlo.convolution(%53, %55) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x4x4x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x8x8x4xf32>
    %57 = stablehlo.multiply %56, %21 : tensor<2x8x8x4xf32>
    %58 = stablehlo.multiply %56, %12 : tensor<2x8x8x4xf32>
    %cst_20 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %59 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<2x8x8x4xf32>
    %60 = stablehlo.multiply %59, %57 : tensor<2x8x8x4xf32>
    %61 = stablehlo.add %58, %60 : tensor<2x8x8x4xf32>
    %62 = stablehlo.convolution(%arg0, %61) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [2, 2], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x16x16x2xf32>, tensor<2x8x8x4xf32>) -> tensor<3x3x2x4xf32>
    return %62, %54 : tensor<3x3x2x4xf32>, tensor<3x3x4x4xf32>
  }
}
