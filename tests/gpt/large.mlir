module @jit_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<2x4096x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {"data"}]>}, %arg1: tensor<32768x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}, %arg2: tensor<1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<2x2x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}, %arg4: tensor<2x16x64x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}, {"data"}]>}, %arg5: tensor<512x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, %arg6: tensor<2x1024x3x16x64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}, {"model"}, {}]>}, %arg7: tensor<2x1024x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {"model"}]>}, %arg8: tensor<32x513xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<2x4096x1024xbf16> {jax.result_info = "result[0]['down']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {"data"}]>}, tensor<32768x1024xbf16> {jax.result_info = "result[0]['embed']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}, tensor<1024xbf16> {jax.result_info = "result[0]['last']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<2x2x1024xbf16> {jax.result_info = "result[0]['norm']", sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}, tensor<2x16x64x1024xbf16> {jax.result_info = "result[0]['out']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}, {"data"}]>}, tensor<512x1024xbf16> {jax.result_info = "result[0]['position']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, tensor<2x1024x3x16x64xbf16> {jax.result_info = "result[0]['qkv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}, {"model"}, {}]>}, tensor<2x1024x4096xbf16> {jax.result_info = "result[0]['up']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {"model"}]>}, tensor<f32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %0 = stablehlo.slice %arg8 [0:32, 0:512] : (tensor<32x513xi32>) -> tensor<32x512xi32>
    %1 = stablehlo.slice %arg8 [0:32, 1:513] : (tensor<32x513xi32>) -> tensor<32x512xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x512xi32>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<32x512xi32>, tensor<32x512xi32>) -> tensor<32x512xi1>
    %c_0 = stablehlo.constant dense<32768> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x512xi32>
    %5 = stablehlo.add %0, %4 : tensor<32x512xi32>
    %6 = stablehlo.select %3, %5, %0 : tensor<32x512xi1>, tensor<32x512xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<32x512xi32>) -> tensor<32x512x1xi32>
    %8 = "stablehlo.gather"(%arg1, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1024>}> : (tensor<32768x1024xbf16>, tensor<32x512x1xi32>) -> tensor<32x512x1024xbf16>
    %9 = stablehlo.broadcast_in_dim %arg5, dims = [1, 2] : (tensor<512x1024xbf16>) -> tensor<1x512x1024xbf16>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x512x1024xbf16>) -> tensor<32x512x1024xbf16>
    %11 = stablehlo.add %8, %10 : tensor<32x512x1024xbf16>
    %12 = sdy.sharding_constraint %11 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %13 = stablehlo.slice %arg3 [0:1, 0:2, 0:1024] : (tensor<2x2x1024xbf16>) -> tensor<1x2x1024xbf16>
    %14 = stablehlo.reshape %13 : (tensor<1x2x1024xbf16>) -> tensor<2x1024xbf16>
    %15 = stablehlo.slice %arg6 [0:1, 0:1024, 0:3, 0:16, 0:64] : (tensor<2x1024x3x16x64xbf16>) -> tensor<1x1024x3x16x64xbf16>
    %16 = stablehlo.reshape %15 : (tensor<1x1024x3x16x64xbf16>) -> tensor<1024x3x16x64xbf16>
    %17 = stablehlo.slice %arg4 [0:1, 0:16, 0:64, 0:1024] : (tensor<2x16x64x1024xbf16>) -> tensor<1x16x64x1024xbf16>
    %18 = stablehlo.reshape %17 : (tensor<1x16x64x1024xbf16>) -> tensor<16x64x1024xbf16>
    %19 = stablehlo.slice %arg7 [0:1, 0:1024, 0:4096] : (tensor<2x1024x4096xbf16>) -> tensor<1x1024x4096xbf16>
    %20 = stablehlo.reshape %19 : (tensor<1x1024x4096xbf16>) -> tensor<1024x4096xbf16>
    %21 = stablehlo.slice %arg0 [0:1, 0:4096, 0:1024] : (tensor<2x4096x1024xbf16>) -> tensor<1x4096x1024xbf16>
    %22 = stablehlo.reshape %21 : (tensor<1x4096x1024xbf16>) -> tensor<4096x1024xbf16>
    %23 = stablehlo.slice %14 [0:1, 0:1024] : (tensor<2x1024xbf16>) -> tensor<1x1024xbf16>
    %24 = stablehlo.reshape %23 : (tensor<1x1024xbf16>) -> tensor<1024xbf16>
    %25 = stablehlo.convert %12 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %26 = stablehlo.reduce(%25 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_1 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %29 = stablehlo.divide %27, %28 : tensor<32x512x1xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %31 = stablehlo.subtract %25, %30 : tensor<32x512x1024xf32>
    %32 = chlo.square %31 : tensor<32x512x1024xf32> -> tensor<32x512x1024xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x512x1024xf32>
    %34 = stablehlo.multiply %33, %31 : tensor<32x512x1024xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.reduce(%32 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_4 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %38 = stablehlo.divide %36, %37 : tensor<32x512x1xf32>
    %39 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %40 = stablehlo.subtract %25, %39 : tensor<32x512x1024xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %42 = stablehlo.add %38, %41 : tensor<32x512x1xf32>
    %43 = stablehlo.rsqrt %42 : tensor<32x512x1xf32>
    %44 = stablehlo.divide %43, %42 : tensor<32x512x1xf32>
    %cst_6 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %46 = stablehlo.multiply %45, %44 : tensor<32x512x1xf32>
    %47 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %48 = stablehlo.multiply %40, %47 : tensor<32x512x1024xf32>
    %49 = stablehlo.convert %48 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %50 = stablehlo.broadcast_in_dim %24, dims = [2] : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %52 = stablehlo.multiply %49, %51 : tensor<32x512x1024xbf16>
    %53 = stablehlo.dot_general %52, %16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<1024x3x16x64xbf16>) -> tensor<32x512x3x16x64xbf16>
    %54 = stablehlo.transpose %53, dims = [2, 0, 1, 3, 4] : (tensor<32x512x3x16x64xbf16>) -> tensor<3x32x512x16x64xbf16>
    %55 = stablehlo.slice %54 [0:1, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %56 = stablehlo.reshape %55 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %57 = stablehlo.slice %54 [1:2, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %58 = stablehlo.reshape %57 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %59 = stablehlo.slice %54 [2:3, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %60 = stablehlo.reshape %59 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %61 = sdy.sharding_constraint %56 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %62 = sdy.sharding_constraint %58 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %63 = sdy.sharding_constraint %60 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %64 = stablehlo.dot_general %61, %62, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x512xbf16>
    %65 = stablehlo.convert %64 : (tensor<32x16x512x512xbf16>) -> tensor<32x16x512x512xf32>
    %cst_7 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %66 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %67 = stablehlo.multiply %65, %66 : tensor<32x16x512x512xf32>
    %c_8 = stablehlo.constant dense<true> : tensor<i1>
    %68 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %69 = call @tril(%68) : (tensor<512x512xi1>) -> tensor<512x512xi1>
    %cst_9 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %70:2 = call @_where(%69, %67, %cst_9) : (tensor<512x512xi1>, tensor<32x16x512x512xf32>, tensor<f32>) -> (tensor<32x16x512x512xf32>, tensor<32x16x512x512xi1>)
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %71 = stablehlo.reduce(%70#0 init: %cst_10) applies stablehlo.maximum across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<32x16x512xf32>
    %73 = stablehlo.maximum %72, %71 : tensor<32x16x512xf32>
    %74 = stablehlo.broadcast_in_dim %73, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %75 = stablehlo.broadcast_in_dim %74, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %76 = stablehlo.subtract %70#0, %75 : tensor<32x16x512x512xf32>
    %77 = stablehlo.exponential %76 : tensor<32x16x512x512xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %78 = stablehlo.reduce(%77 init: %cst_12) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %79 = stablehlo.broadcast_in_dim %78, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %81 = stablehlo.divide %77, %80 : tensor<32x16x512x512xf32>
    %82 = stablehlo.multiply %79, %79 : tensor<32x16x512x1xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %83 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<32x16x512x1xf32>
    %84 = stablehlo.divide %83, %82 : tensor<32x16x512x1xf32>
    %85 = stablehlo.convert %81 : (tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xbf16>
    %86 = stablehlo.dot_general %63, %85, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<32x16x512x512xbf16>) -> tensor<32x16x64x512xbf16>
    %87 = stablehlo.transpose %86, dims = [0, 3, 1, 2] : (tensor<32x16x64x512xbf16>) -> tensor<32x512x16x64xbf16>
    %88 = stablehlo.dot_general %87, %18, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<16x64x1024xbf16>) -> tensor<32x512x1024xbf16>
    %89 = stablehlo.add %12, %88 : tensor<32x512x1024xbf16>
    %90 = sdy.sharding_constraint %89 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %91 = stablehlo.slice %14 [1:2, 0:1024] : (tensor<2x1024xbf16>) -> tensor<1x1024xbf16>
    %92 = stablehlo.reshape %91 : (tensor<1x1024xbf16>) -> tensor<1024xbf16>
    %93 = stablehlo.convert %90 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %94 = stablehlo.reduce(%93 init: %cst_14) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %95 = stablehlo.broadcast_in_dim %94, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_15 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %97 = stablehlo.divide %95, %96 : tensor<32x512x1xf32>
    %98 = stablehlo.broadcast_in_dim %97, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %99 = stablehlo.subtract %93, %98 : tensor<32x512x1024xf32>
    %100 = chlo.square %99 : tensor<32x512x1024xf32> -> tensor<32x512x1024xf32>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %101 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<32x512x1024xf32>
    %102 = stablehlo.multiply %101, %99 : tensor<32x512x1024xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %103 = stablehlo.reduce(%100 init: %cst_17) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %104 = stablehlo.broadcast_in_dim %103, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_18 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %105 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %106 = stablehlo.divide %104, %105 : tensor<32x512x1xf32>
    %107 = stablehlo.broadcast_in_dim %97, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %108 = stablehlo.subtract %93, %107 : tensor<32x512x1024xf32>
    %cst_19 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %109 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %110 = stablehlo.add %106, %109 : tensor<32x512x1xf32>
    %111 = stablehlo.rsqrt %110 : tensor<32x512x1xf32>
    %112 = stablehlo.divide %111, %110 : tensor<32x512x1xf32>
    %cst_20 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %113 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %114 = stablehlo.multiply %113, %112 : tensor<32x512x1xf32>
    %115 = stablehlo.broadcast_in_dim %111, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %116 = stablehlo.multiply %108, %115 : tensor<32x512x1024xf32>
    %117 = stablehlo.convert %116 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %118 = stablehlo.broadcast_in_dim %92, dims = [2] : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %119 = stablehlo.broadcast_in_dim %118, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %120 = stablehlo.multiply %117, %119 : tensor<32x512x1024xbf16>
    %121 = stablehlo.dot_general %120, %20, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<32x512x4096xbf16>
    %122 = stablehlo.multiply %121, %121 : tensor<32x512x4096xbf16>
    %123 = stablehlo.multiply %122, %121 : tensor<32x512x4096xbf16>
    %124 = stablehlo.multiply %121, %121 : tensor<32x512x4096xbf16>
    %cst_21 = stablehlo.constant dense<3.000000e+00> : tensor<bf16>
    %125 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %126 = stablehlo.multiply %125, %124 : tensor<32x512x4096xbf16>
    %cst_22 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %127 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %128 = stablehlo.multiply %127, %123 : tensor<32x512x4096xbf16>
    %129 = stablehlo.add %121, %128 : tensor<32x512x4096xbf16>
    %cst_23 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %130 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %131 = stablehlo.multiply %130, %129 : tensor<32x512x4096xbf16>
    %132 = stablehlo.tanh %131 : tensor<32x512x4096xbf16>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %133 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %134 = stablehlo.subtract %133, %132 : tensor<32x512x4096xbf16>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %135 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %136 = stablehlo.add %135, %132 : tensor<32x512x4096xbf16>
    %cst_26 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %137 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %138 = stablehlo.multiply %137, %136 : tensor<32x512x4096xbf16>
    %139 = stablehlo.multiply %121, %138 : tensor<32x512x4096xbf16>
    %140 = sdy.sharding_constraint %139 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x4096xbf16>
    %141 = stablehlo.dot_general %140, %22, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<32x512x1024xbf16>
    %142 = stablehlo.add %90, %141 : tensor<32x512x1024xbf16>
    %143 = sdy.sharding_constraint %142 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %144 = stablehlo.slice %arg3 [1:2, 0:2, 0:1024] : (tensor<2x2x1024xbf16>) -> tensor<1x2x1024xbf16>
    %145 = stablehlo.reshape %144 : (tensor<1x2x1024xbf16>) -> tensor<2x1024xbf16>
    %146 = stablehlo.slice %arg6 [1:2, 0:1024, 0:3, 0:16, 0:64] : (tensor<2x1024x3x16x64xbf16>) -> tensor<1x1024x3x16x64xbf16>
    %147 = stablehlo.reshape %146 : (tensor<1x1024x3x16x64xbf16>) -> tensor<1024x3x16x64xbf16>
    %148 = stablehlo.slice %arg4 [1:2, 0:16, 0:64, 0:1024] : (tensor<2x16x64x1024xbf16>) -> tensor<1x16x64x1024xbf16>
    %149 = stablehlo.reshape %148 : (tensor<1x16x64x1024xbf16>) -> tensor<16x64x1024xbf16>
    %150 = stablehlo.slice %arg7 [1:2, 0:1024, 0:4096] : (tensor<2x1024x4096xbf16>) -> tensor<1x1024x4096xbf16>
    %151 = stablehlo.reshape %150 : (tensor<1x1024x4096xbf16>) -> tensor<1024x4096xbf16>
    %152 = stablehlo.slice %arg0 [1:2, 0:4096, 0:1024] : (tensor<2x4096x1024xbf16>) -> tensor<1x4096x1024xbf16>
    %153 = stablehlo.reshape %152 : (tensor<1x4096x1024xbf16>) -> tensor<4096x1024xbf16>
    %154 = stablehlo.slice %145 [0:1, 0:1024] : (tensor<2x1024xbf16>) -> tensor<1x1024xbf16>
    %155 = stablehlo.reshape %154 : (tensor<1x1024xbf16>) -> tensor<1024xbf16>
    %156 = stablehlo.convert %143 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %157 = stablehlo.reduce(%156 init: %cst_27) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %158 = stablehlo.broadcast_in_dim %157, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_28 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %159 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %160 = stablehlo.divide %158, %159 : tensor<32x512x1xf32>
    %161 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %162 = stablehlo.subtract %156, %161 : tensor<32x512x1024xf32>
    %163 = chlo.square %162 : tensor<32x512x1024xf32> -> tensor<32x512x1024xf32>
    %cst_29 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %164 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<32x512x1024xf32>
    %165 = stablehlo.multiply %164, %162 : tensor<32x512x1024xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %166 = stablehlo.reduce(%163 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %167 = stablehlo.broadcast_in_dim %166, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_31 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %168 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %169 = stablehlo.divide %167, %168 : tensor<32x512x1xf32>
    %170 = stablehlo.broadcast_in_dim %160, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %171 = stablehlo.subtract %156, %170 : tensor<32x512x1024xf32>
    %cst_32 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %172 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %173 = stablehlo.add %169, %172 : tensor<32x512x1xf32>
    %174 = stablehlo.rsqrt %173 : tensor<32x512x1xf32>
    %175 = stablehlo.divide %174, %173 : tensor<32x512x1xf32>
    %cst_33 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %176 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %177 = stablehlo.multiply %176, %175 : tensor<32x512x1xf32>
    %178 = stablehlo.broadcast_in_dim %174, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %179 = stablehlo.multiply %171, %178 : tensor<32x512x1024xf32>
    %180 = stablehlo.convert %179 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %181 = stablehlo.broadcast_in_dim %155, dims = [2] : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %182 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %183 = stablehlo.multiply %180, %182 : tensor<32x512x1024xbf16>
    %184 = stablehlo.dot_general %183, %147, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<1024x3x16x64xbf16>) -> tensor<32x512x3x16x64xbf16>
    %185 = stablehlo.transpose %184, dims = [2, 0, 1, 3, 4] : (tensor<32x512x3x16x64xbf16>) -> tensor<3x32x512x16x64xbf16>
    %186 = stablehlo.slice %185 [0:1, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %187 = stablehlo.reshape %186 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %188 = stablehlo.slice %185 [1:2, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %189 = stablehlo.reshape %188 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %190 = stablehlo.slice %185 [2:3, 0:32, 0:512, 0:16, 0:64] : (tensor<3x32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %191 = stablehlo.reshape %190 : (tensor<1x32x512x16x64xbf16>) -> tensor<32x512x16x64xbf16>
    %192 = sdy.sharding_constraint %187 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %193 = sdy.sharding_constraint %189 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %194 = sdy.sharding_constraint %191 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %195 = stablehlo.dot_general %192, %193, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x512xbf16>
    %196 = stablehlo.convert %195 : (tensor<32x16x512x512xbf16>) -> tensor<32x16x512x512xf32>
    %cst_34 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %197 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %198 = stablehlo.multiply %196, %197 : tensor<32x16x512x512xf32>
    %c_35 = stablehlo.constant dense<true> : tensor<i1>
    %199 = stablehlo.broadcast_in_dim %c_35, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %200 = call @tril(%199) : (tensor<512x512xi1>) -> tensor<512x512xi1>
    %cst_36 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %201:2 = call @_where(%200, %198, %cst_36) : (tensor<512x512xi1>, tensor<32x16x512x512xf32>, tensor<f32>) -> (tensor<32x16x512x512xf32>, tensor<32x16x512x512xi1>)
    %cst_37 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %202 = stablehlo.reduce(%201#0 init: %cst_37) applies stablehlo.maximum across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %cst_38 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %203 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<32x16x512xf32>
    %204 = stablehlo.maximum %203, %202 : tensor<32x16x512xf32>
    %205 = stablehlo.broadcast_in_dim %204, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %206 = stablehlo.broadcast_in_dim %205, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %207 = stablehlo.subtract %201#0, %206 : tensor<32x16x512x512xf32>
    %208 = stablehlo.exponential %207 : tensor<32x16x512x512xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %209 = stablehlo.reduce(%208 init: %cst_39) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %210 = stablehlo.broadcast_in_dim %209, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %211 = stablehlo.broadcast_in_dim %210, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %212 = stablehlo.divide %208, %211 : tensor<32x16x512x512xf32>
    %213 = stablehlo.multiply %210, %210 : tensor<32x16x512x1xf32>
    %cst_40 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %214 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<32x16x512x1xf32>
    %215 = stablehlo.divide %214, %213 : tensor<32x16x512x1xf32>
    %216 = stablehlo.convert %212 : (tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xbf16>
    %217 = stablehlo.dot_general %194, %216, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<32x16x512x512xbf16>) -> tensor<32x16x64x512xbf16>
    %218 = stablehlo.transpose %217, dims = [0, 3, 1, 2] : (tensor<32x16x64x512xbf16>) -> tensor<32x512x16x64xbf16>
    %219 = stablehlo.dot_general %218, %149, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x16x64xbf16>, tensor<16x64x1024xbf16>) -> tensor<32x512x1024xbf16>
    %220 = stablehlo.add %143, %219 : tensor<32x512x1024xbf16>
    %221 = sdy.sharding_constraint %220 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %222 = stablehlo.slice %145 [1:2, 0:1024] : (tensor<2x1024xbf16>) -> tensor<1x1024xbf16>
    %223 = stablehlo.reshape %222 : (tensor<1x1024xbf16>) -> tensor<1024xbf16>
    %224 = stablehlo.convert %221 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %225 = stablehlo.reduce(%224 init: %cst_41) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %226 = stablehlo.broadcast_in_dim %225, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_42 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %227 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %228 = stablehlo.divide %226, %227 : tensor<32x512x1xf32>
    %229 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %230 = stablehlo.subtract %224, %229 : tensor<32x512x1024xf32>
    %231 = chlo.square %230 : tensor<32x512x1024xf32> -> tensor<32x512x1024xf32>
    %cst_43 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %232 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<32x512x1024xf32>
    %233 = stablehlo.multiply %232, %230 : tensor<32x512x1024xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %234 = stablehlo.reduce(%231 init: %cst_44) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %235 = stablehlo.broadcast_in_dim %234, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_45 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %236 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %237 = stablehlo.divide %235, %236 : tensor<32x512x1xf32>
    %238 = stablehlo.broadcast_in_dim %228, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %239 = stablehlo.subtract %224, %238 : tensor<32x512x1024xf32>
    %cst_46 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %240 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %241 = stablehlo.add %237, %240 : tensor<32x512x1xf32>
    %242 = stablehlo.rsqrt %241 : tensor<32x512x1xf32>
    %243 = stablehlo.divide %242, %241 : tensor<32x512x1xf32>
    %cst_47 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %244 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %245 = stablehlo.multiply %244, %243 : tensor<32x512x1xf32>
    %246 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %247 = stablehlo.multiply %239, %246 : tensor<32x512x1024xf32>
    %248 = stablehlo.convert %247 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %249 = stablehlo.broadcast_in_dim %223, dims = [2] : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %250 = stablehlo.broadcast_in_dim %249, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %251 = stablehlo.multiply %248, %250 : tensor<32x512x1024xbf16>
    %252 = stablehlo.dot_general %251, %151, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<32x512x4096xbf16>
    %253 = stablehlo.multiply %252, %252 : tensor<32x512x4096xbf16>
    %254 = stablehlo.multiply %253, %252 : tensor<32x512x4096xbf16>
    %255 = stablehlo.multiply %252, %252 : tensor<32x512x4096xbf16>
    %cst_48 = stablehlo.constant dense<3.000000e+00> : tensor<bf16>
    %256 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %257 = stablehlo.multiply %256, %255 : tensor<32x512x4096xbf16>
    %cst_49 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %258 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %259 = stablehlo.multiply %258, %254 : tensor<32x512x4096xbf16>
    %260 = stablehlo.add %252, %259 : tensor<32x512x4096xbf16>
    %cst_50 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %261 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %262 = stablehlo.multiply %261, %260 : tensor<32x512x4096xbf16>
    %263 = stablehlo.tanh %262 : tensor<32x512x4096xbf16>
    %cst_51 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %264 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %265 = stablehlo.subtract %264, %263 : tensor<32x512x4096xbf16>
    %cst_52 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %266 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %267 = stablehlo.add %266, %263 : tensor<32x512x4096xbf16>
    %cst_53 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %268 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %269 = stablehlo.multiply %268, %267 : tensor<32x512x4096xbf16>
    %270 = stablehlo.multiply %252, %269 : tensor<32x512x4096xbf16>
    %271 = sdy.sharding_constraint %270 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x4096xbf16>
    %272 = stablehlo.dot_general %271, %153, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<32x512x1024xbf16>
    %273 = stablehlo.add %221, %272 : tensor<32x512x1024xbf16>
    %274 = sdy.sharding_constraint %273 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %275 = stablehlo.convert %274 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %276 = stablehlo.reduce(%275 init: %cst_54) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %277 = stablehlo.broadcast_in_dim %276, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_55 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %278 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %279 = stablehlo.divide %277, %278 : tensor<32x512x1xf32>
    %280 = stablehlo.broadcast_in_dim %279, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %281 = stablehlo.subtract %275, %280 : tensor<32x512x1024xf32>
    %282 = chlo.square %281 : tensor<32x512x1024xf32> -> tensor<32x512x1024xf32>
    %cst_56 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %283 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<32x512x1024xf32>
    %284 = stablehlo.multiply %283, %281 : tensor<32x512x1024xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %285 = stablehlo.reduce(%282 init: %cst_57) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %286 = stablehlo.broadcast_in_dim %285, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_58 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %287 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %288 = stablehlo.divide %286, %287 : tensor<32x512x1xf32>
    %289 = stablehlo.broadcast_in_dim %279, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %290 = stablehlo.subtract %275, %289 : tensor<32x512x1024xf32>
    %cst_59 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %291 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %292 = stablehlo.add %288, %291 : tensor<32x512x1xf32>
    %293 = stablehlo.rsqrt %292 : tensor<32x512x1xf32>
    %294 = stablehlo.divide %293, %292 : tensor<32x512x1xf32>
    %cst_60 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %295 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %296 = stablehlo.multiply %295, %294 : tensor<32x512x1xf32>
    %297 = stablehlo.broadcast_in_dim %293, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %298 = stablehlo.multiply %290, %297 : tensor<32x512x1024xf32>
    %299 = stablehlo.convert %298 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %300 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %301 = stablehlo.broadcast_in_dim %300, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %302 = stablehlo.multiply %299, %301 : tensor<32x512x1024xbf16>
    %303 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<32768x1024xbf16>) -> tensor<1024x32768xbf16>
    %304 = stablehlo.dot_general %302, %303, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<1024x32768xbf16>) -> tensor<32x512x32768xbf16>
    %305 = stablehlo.convert %304 : (tensor<32x512x32768xbf16>) -> tensor<32x512x32768xf32>
    %306 = sdy.sharding_constraint %305 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x32768xf32>
    %307 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<32x512xi32>) -> tensor<32x512x1xi32>
    %308:2 = call @take_along_axis(%306, %307) : (tensor<32x512x32768xf32>, tensor<32x512x1xi32>) -> (tensor<32x512x1xf32>, tensor<32x512x1x1xi32>)
    %309 = stablehlo.reshape %308#0 : (tensor<32x512x1xf32>) -> tensor<32x512xf32>
    %cst_61 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %310 = stablehlo.reduce(%306 init: %cst_61) applies stablehlo.maximum across dimensions = [2] : (tensor<32x512x32768xf32>, tensor<f32>) -> tensor<32x512xf32>
    %cst_62 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %311 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<32x512xf32>
    %312 = stablehlo.maximum %311, %310 : tensor<32x512xf32>
    %313 = stablehlo.is_finite %312 : (tensor<32x512xf32>) -> tensor<32x512xi1>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %314 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<32x512xf32>
    %315 = stablehlo.select %313, %312, %314 : tensor<32x512xi1>, tensor<32x512xf32>
    %316 = stablehlo.broadcast_in_dim %315, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %317 = stablehlo.broadcast_in_dim %316, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x32768xf32>
    %318 = stablehlo.subtract %306, %317 : tensor<32x512x32768xf32>
    %319 = stablehlo.exponential %318 : tensor<32x512x32768xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %320 = stablehlo.reduce(%319 init: %cst_64) applies stablehlo.add across dimensions = [2] : (tensor<32x512x32768xf32>, tensor<f32>) -> tensor<32x512xf32>
    %321 = stablehlo.abs %320 : tensor<32x512xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %322 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<32x512xf32>
    %323 = stablehlo.compare GE, %320, %322, FLOAT : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<32x512xi1>
    %324 = stablehlo.log %321 : tensor<32x512xf32>
    %325 = stablehlo.add %324, %315 : tensor<32x512xf32>
    %326 = stablehlo.subtract %325, %309 : tensor<32x512xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %327 = stablehlo.reduce(%326 init: %cst_66) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512xf32>, tensor<f32>) -> tensor<f32>
    %cst_67 = stablehlo.constant dense<1.638400e+04> : tensor<f32>
    %328 = stablehlo.divide %327, %cst_67 : tensor<f32>
    %cst_68 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_69 = stablehlo.constant dense<1.638400e+04> : tensor<f32>
    %329 = stablehlo.divide %cst_68, %cst_69 : tensor<f32>
    %330 = stablehlo.broadcast_in_dim %329, dims = [] : (tensor<f32>) -> tensor<32x512xf32>
    %331 = stablehlo.negate %330 : tensor<32x512xf32>
    %332 = stablehlo.divide %330, %321 : tensor<32x512xf32>
    %cst_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %333 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<32x512xf32>
    %334 = stablehlo.select %323, %333, %332 : tensor<32x512xi1>, tensor<32x512xf32>
    %335 = stablehlo.select %323, %332, %333 : tensor<32x512xi1>, tensor<32x512xf32>
    %336 = stablehlo.negate %334 : tensor<32x512xf32>
    %337 = stablehlo.add %335, %336 : tensor<32x512xf32>
    %338 = stablehlo.broadcast_in_dim %337, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x32768xf32>
    %339 = stablehlo.multiply %338, %319 : tensor<32x512x32768xf32>
    %340 = stablehlo.broadcast_in_dim %331, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %341 = call @take_along_axis_0(%308#1, %340) : (tensor<32x512x1x1xi32>, tensor<32x512x1xf32>) -> tensor<32x512x32768xf32>
    %342 = stablehlo.add %339, %341 : tensor<32x512x32768xf32>
    %343 = sdy.sharding_constraint %342 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x32768xf32>
    %344 = stablehlo.convert %343 : (tensor<32x512x32768xf32>) -> tensor<32x512x32768xbf16>
    %345 = stablehlo.dot_general %344, %302, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x32768xbf16>, tensor<32x512x1024xbf16>) -> tensor<32768x1024xbf16>
    %346 = stablehlo.transpose %345, dims = [1, 0] : (tensor<32768x1024xbf16>) -> tensor<1024x32768xbf16>
    %347 = stablehlo.dot_general %344, %303, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x32768xbf16>, tensor<1024x32768xbf16>) -> tensor<32x512x1024xbf16>
    %348 = stablehlo.transpose %346, dims = [1, 0] : (tensor<1024x32768xbf16>) -> tensor<32768x1024xbf16>
    %349 = stablehlo.multiply %299, %347 : tensor<32x512x1024xbf16>
    %cst_71 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %350 = stablehlo.reduce(%349 init: %cst_71) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %351 = stablehlo.reshape %350 : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %352 = stablehlo.broadcast_in_dim %300, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %353 = stablehlo.multiply %347, %352 : tensor<32x512x1024xbf16>
    %cst_72 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %354 = stablehlo.reduce(%351 init: %cst_72) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %355 = stablehlo.convert %353 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %356 = stablehlo.multiply %290, %355 : tensor<32x512x1024xf32>
    %cst_73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %357 = stablehlo.reduce(%356 init: %cst_73) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %358 = stablehlo.reshape %357 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %359 = stablehlo.broadcast_in_dim %293, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %360 = stablehlo.multiply %355, %359 : tensor<32x512x1024xf32>
    %361 = stablehlo.multiply %358, %296 : tensor<32x512x1xf32>
    %362 = stablehlo.negate %360 : tensor<32x512x1024xf32>
    %cst_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %363 = stablehlo.reduce(%362 init: %cst_74) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %364 = stablehlo.reshape %363 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_75 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %365 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %366 = stablehlo.divide %361, %365 : tensor<32x512x1xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %367 = stablehlo.reduce(%366 init: %cst_76) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %368 = stablehlo.broadcast_in_dim %367, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %369 = stablehlo.multiply %368, %284 : tensor<32x512x1024xf32>
    %370 = stablehlo.negate %369 : tensor<32x512x1024xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %371 = stablehlo.reduce(%370 init: %cst_77) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %372 = stablehlo.reshape %371 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %373 = stablehlo.add %360, %369 : tensor<32x512x1024xf32>
    %374 = stablehlo.add %364, %372 : tensor<32x512x1xf32>
    %cst_78 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %375 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %376 = stablehlo.divide %374, %375 : tensor<32x512x1xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %377 = stablehlo.reduce(%376 init: %cst_79) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %378 = stablehlo.broadcast_in_dim %377, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %379 = stablehlo.add %373, %378 : tensor<32x512x1024xf32>
    %380 = stablehlo.convert %379 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %381 = sdy.sharding_constraint %380 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %382 = stablehlo.dot_general %381, %271, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<32x512x4096xbf16>) -> tensor<1024x4096xbf16>
    %383 = stablehlo.transpose %382, dims = [1, 0] : (tensor<1024x4096xbf16>) -> tensor<4096x1024xbf16>
    %384 = stablehlo.dot_general %381, %153, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<4096x1024xbf16>) -> tensor<32x512x4096xbf16>
    %385 = sdy.sharding_constraint %384 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x4096xbf16>
    %386 = stablehlo.multiply %252, %385 : tensor<32x512x4096xbf16>
    %387 = stablehlo.multiply %385, %269 : tensor<32x512x4096xbf16>
    %cst_80 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %388 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %389 = stablehlo.multiply %388, %386 : tensor<32x512x4096xbf16>
    %390 = stablehlo.multiply %389, %265 : tensor<32x512x4096xbf16>
    %391 = stablehlo.multiply %390, %263 : tensor<32x512x4096xbf16>
    %392 = stablehlo.add %390, %391 : tensor<32x512x4096xbf16>
    %cst_81 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %393 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %394 = stablehlo.multiply %393, %392 : tensor<32x512x4096xbf16>
    %395 = stablehlo.add %387, %394 : tensor<32x512x4096xbf16>
    %cst_82 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %396 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %397 = stablehlo.multiply %396, %394 : tensor<32x512x4096xbf16>
    %398 = stablehlo.multiply %397, %257 : tensor<32x512x4096xbf16>
    %399 = stablehlo.add %395, %398 : tensor<32x512x4096xbf16>
    %400 = stablehlo.dot_general %399, %251, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<32x512x1024xbf16>) -> tensor<4096x1024xbf16>
    %401 = stablehlo.transpose %400, dims = [1, 0] : (tensor<4096x1024xbf16>) -> tensor<1024x4096xbf16>
    %402 = stablehlo.dot_general %399, %151, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<32x512x1024xbf16>
    %403 = stablehlo.multiply %248, %402 : tensor<32x512x1024xbf16>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %404 = stablehlo.reduce(%403 init: %cst_83) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %405 = stablehlo.reshape %404 : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %406 = stablehlo.broadcast_in_dim %249, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %407 = stablehlo.multiply %402, %406 : tensor<32x512x1024xbf16>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %408 = stablehlo.reduce(%405 init: %cst_84) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %409 = stablehlo.convert %407 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %410 = stablehlo.multiply %239, %409 : tensor<32x512x1024xf32>
    %cst_85 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %411 = stablehlo.reduce(%410 init: %cst_85) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %412 = stablehlo.reshape %411 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %413 = stablehlo.broadcast_in_dim %242, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %414 = stablehlo.multiply %409, %413 : tensor<32x512x1024xf32>
    %415 = stablehlo.multiply %412, %245 : tensor<32x512x1xf32>
    %416 = stablehlo.negate %414 : tensor<32x512x1024xf32>
    %cst_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %417 = stablehlo.reduce(%416 init: %cst_86) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %418 = stablehlo.reshape %417 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_87 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %419 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %420 = stablehlo.divide %415, %419 : tensor<32x512x1xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %421 = stablehlo.reduce(%420 init: %cst_88) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %422 = stablehlo.broadcast_in_dim %421, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %423 = stablehlo.multiply %422, %233 : tensor<32x512x1024xf32>
    %424 = stablehlo.negate %423 : tensor<32x512x1024xf32>
    %cst_89 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %425 = stablehlo.reduce(%424 init: %cst_89) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %426 = stablehlo.reshape %425 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %427 = stablehlo.add %414, %423 : tensor<32x512x1024xf32>
    %428 = stablehlo.add %418, %426 : tensor<32x512x1xf32>
    %cst_90 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %429 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %430 = stablehlo.divide %428, %429 : tensor<32x512x1xf32>
    %cst_91 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %431 = stablehlo.reduce(%430 init: %cst_91) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %432 = stablehlo.broadcast_in_dim %431, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %433 = stablehlo.add %427, %432 : tensor<32x512x1024xf32>
    %434 = stablehlo.convert %433 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %435 = stablehlo.add %381, %434 : tensor<32x512x1024xbf16>
    %436 = stablehlo.broadcast_in_dim %408, dims = [1] : (tensor<1024xbf16>) -> tensor<1x1024xbf16>
    %cst_92 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %437 = stablehlo.pad %436, %cst_92, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<1x1024xbf16>, tensor<bf16>) -> tensor<2x1024xbf16>
    %438 = sdy.sharding_constraint %435 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %439 = stablehlo.dot_general %438, %218, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<32x512x16x64xbf16>) -> tensor<1024x16x64xbf16>
    %440 = stablehlo.transpose %439, dims = [1, 2, 0] : (tensor<1024x16x64xbf16>) -> tensor<16x64x1024xbf16>
    %441 = stablehlo.dot_general %438, %149, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<16x64x1024xbf16>) -> tensor<32x512x16x64xbf16>
    %442 = stablehlo.transpose %441, dims = [0, 2, 3, 1] : (tensor<32x512x16x64xbf16>) -> tensor<32x16x64x512xbf16>
    %443 = stablehlo.dot_general %442, %194, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x16x64x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x512xbf16>
    %444 = stablehlo.dot_general %442, %216, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<32x16x64x512xbf16>, tensor<32x16x512x512xbf16>) -> tensor<32x16x64x512xbf16>
    %445 = stablehlo.transpose %444, dims = [0, 3, 1, 2] : (tensor<32x16x64x512xbf16>) -> tensor<32x512x16x64xbf16>
    %446 = stablehlo.convert %443 : (tensor<32x16x512x512xbf16>) -> tensor<32x16x512x512xf32>
    %447 = stablehlo.broadcast_in_dim %215, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %448 = stablehlo.multiply %446, %447 : tensor<32x16x512x512xf32>
    %449 = stablehlo.multiply %448, %208 : tensor<32x16x512x512xf32>
    %cst_93 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %450 = stablehlo.reduce(%449 init: %cst_93) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %451 = stablehlo.reshape %450 : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %452 = stablehlo.negate %451 : tensor<32x16x512x1xf32>
    %453 = stablehlo.broadcast_in_dim %210, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %454 = stablehlo.divide %446, %453 : tensor<32x16x512x512xf32>
    %cst_94 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %455 = stablehlo.reduce(%452 init: %cst_94) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x1xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %456 = stablehlo.broadcast_in_dim %455, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x512xf32>
    %457 = stablehlo.add %454, %456 : tensor<32x16x512x512xf32>
    %458 = stablehlo.multiply %457, %208 : tensor<32x16x512x512xf32>
    %459 = call @_where_1(%201#1, %458) : (tensor<32x16x512x512xi1>, tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xf32>
    %cst_95 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %460 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %461 = stablehlo.multiply %459, %460 : tensor<32x16x512x512xf32>
    %462 = stablehlo.convert %461 : (tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xbf16>
    %463 = stablehlo.dot_general %462, %192, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x16x512x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x64xbf16>
    %464 = stablehlo.transpose %463, dims = [0, 2, 1, 3] : (tensor<32x16x512x64xbf16>) -> tensor<32x512x16x64xbf16>
    %465 = stablehlo.dot_general %462, %193, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x16x512x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x64xbf16>
    %466 = stablehlo.transpose %465, dims = [0, 2, 1, 3] : (tensor<32x16x512x64xbf16>) -> tensor<32x512x16x64xbf16>
    %467 = sdy.sharding_constraint %445 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %468 = sdy.sharding_constraint %464 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %469 = sdy.sharding_constraint %466 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %470 = stablehlo.broadcast_in_dim %467, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_96 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %471 = stablehlo.pad %470, %cst_96, low = [2, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %472 = stablehlo.broadcast_in_dim %468, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_97 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %473 = stablehlo.pad %472, %cst_97, low = [1, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %474 = stablehlo.add %471, %473 : tensor<3x32x512x16x64xbf16>
    %475 = stablehlo.broadcast_in_dim %469, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_98 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %476 = stablehlo.pad %475, %cst_98, low = [0, 0, 0, 0, 0], high = [2, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %477 = stablehlo.add %474, %476 : tensor<3x32x512x16x64xbf16>
    %478 = stablehlo.transpose %477, dims = [1, 2, 0, 3, 4] : (tensor<3x32x512x16x64xbf16>) -> tensor<32x512x3x16x64xbf16>
    %479 = stablehlo.dot_general %478, %183, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x3x16x64xbf16>, tensor<32x512x1024xbf16>) -> tensor<3x16x64x1024xbf16>
    %480 = stablehlo.transpose %479, dims = [3, 0, 1, 2] : (tensor<3x16x64x1024xbf16>) -> tensor<1024x3x16x64xbf16>
    %481 = stablehlo.dot_general %478, %147, contracting_dims = [2, 3, 4] x [1, 2, 3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x3x16x64xbf16>, tensor<1024x3x16x64xbf16>) -> tensor<32x512x1024xbf16>
    %482 = stablehlo.multiply %180, %481 : tensor<32x512x1024xbf16>
    %cst_99 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %483 = stablehlo.reduce(%482 init: %cst_99) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %484 = stablehlo.reshape %483 : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %485 = stablehlo.broadcast_in_dim %181, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %486 = stablehlo.multiply %481, %485 : tensor<32x512x1024xbf16>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %487 = stablehlo.reduce(%484 init: %cst_100) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %488 = stablehlo.convert %486 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %489 = stablehlo.multiply %171, %488 : tensor<32x512x1024xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %490 = stablehlo.reduce(%489 init: %cst_101) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %491 = stablehlo.reshape %490 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %492 = stablehlo.broadcast_in_dim %174, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %493 = stablehlo.multiply %488, %492 : tensor<32x512x1024xf32>
    %494 = stablehlo.multiply %491, %177 : tensor<32x512x1xf32>
    %495 = stablehlo.negate %493 : tensor<32x512x1024xf32>
    %cst_102 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %496 = stablehlo.reduce(%495 init: %cst_102) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %497 = stablehlo.reshape %496 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_103 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %498 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %499 = stablehlo.divide %494, %498 : tensor<32x512x1xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %500 = stablehlo.reduce(%499 init: %cst_104) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %501 = stablehlo.broadcast_in_dim %500, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %502 = stablehlo.multiply %501, %165 : tensor<32x512x1024xf32>
    %503 = stablehlo.negate %502 : tensor<32x512x1024xf32>
    %cst_105 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %504 = stablehlo.reduce(%503 init: %cst_105) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %505 = stablehlo.reshape %504 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %506 = stablehlo.add %493, %502 : tensor<32x512x1024xf32>
    %507 = stablehlo.add %497, %505 : tensor<32x512x1xf32>
    %cst_106 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %508 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %509 = stablehlo.divide %507, %508 : tensor<32x512x1xf32>
    %cst_107 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %510 = stablehlo.reduce(%509 init: %cst_107) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %511 = stablehlo.broadcast_in_dim %510, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %512 = stablehlo.add %506, %511 : tensor<32x512x1024xf32>
    %513 = stablehlo.convert %512 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %514 = stablehlo.add %438, %513 : tensor<32x512x1024xbf16>
    %515 = stablehlo.broadcast_in_dim %487, dims = [1] : (tensor<1024xbf16>) -> tensor<1x1024xbf16>
    %cst_108 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %516 = stablehlo.pad %515, %cst_108, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<1x1024xbf16>, tensor<bf16>) -> tensor<2x1024xbf16>
    %517 = stablehlo.add %437, %516 : tensor<2x1024xbf16>
    %518 = stablehlo.broadcast_in_dim %383, dims = [1, 2] : (tensor<4096x1024xbf16>) -> tensor<1x4096x1024xbf16>
    %cst_109 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %519 = stablehlo.pad %518, %cst_109, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x4096x1024xbf16>, tensor<bf16>) -> tensor<2x4096x1024xbf16>
    %520 = stablehlo.broadcast_in_dim %401, dims = [1, 2] : (tensor<1024x4096xbf16>) -> tensor<1x1024x4096xbf16>
    %cst_110 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %521 = stablehlo.pad %520, %cst_110, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x1024x4096xbf16>, tensor<bf16>) -> tensor<2x1024x4096xbf16>
    %522 = stablehlo.broadcast_in_dim %440, dims = [1, 2, 3] : (tensor<16x64x1024xbf16>) -> tensor<1x16x64x1024xbf16>
    %cst_111 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %523 = stablehlo.pad %522, %cst_111, low = [1, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x16x64x1024xbf16>, tensor<bf16>) -> tensor<2x16x64x1024xbf16>
    %524 = stablehlo.broadcast_in_dim %480, dims = [1, 2, 3, 4] : (tensor<1024x3x16x64xbf16>) -> tensor<1x1024x3x16x64xbf16>
    %cst_112 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %525 = stablehlo.pad %524, %cst_112, low = [1, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x1024x3x16x64xbf16>, tensor<bf16>) -> tensor<2x1024x3x16x64xbf16>
    %526 = stablehlo.broadcast_in_dim %517, dims = [1, 2] : (tensor<2x1024xbf16>) -> tensor<1x2x1024xbf16>
    %cst_113 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %527 = stablehlo.pad %526, %cst_113, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x2x1024xbf16>, tensor<bf16>) -> tensor<2x2x1024xbf16>
    %528 = sdy.sharding_constraint %514 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %529 = stablehlo.dot_general %528, %140, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<32x512x4096xbf16>) -> tensor<1024x4096xbf16>
    %530 = stablehlo.transpose %529, dims = [1, 0] : (tensor<1024x4096xbf16>) -> tensor<4096x1024xbf16>
    %531 = stablehlo.dot_general %528, %22, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<4096x1024xbf16>) -> tensor<32x512x4096xbf16>
    %532 = sdy.sharding_constraint %531 <@mesh, [{"data"}, {}, {"model"}]> : tensor<32x512x4096xbf16>
    %533 = stablehlo.multiply %121, %532 : tensor<32x512x4096xbf16>
    %534 = stablehlo.multiply %532, %138 : tensor<32x512x4096xbf16>
    %cst_114 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %535 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %536 = stablehlo.multiply %535, %533 : tensor<32x512x4096xbf16>
    %537 = stablehlo.multiply %536, %134 : tensor<32x512x4096xbf16>
    %538 = stablehlo.multiply %537, %132 : tensor<32x512x4096xbf16>
    %539 = stablehlo.add %537, %538 : tensor<32x512x4096xbf16>
    %cst_115 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %540 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %541 = stablehlo.multiply %540, %539 : tensor<32x512x4096xbf16>
    %542 = stablehlo.add %534, %541 : tensor<32x512x4096xbf16>
    %cst_116 = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %543 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<bf16>) -> tensor<32x512x4096xbf16>
    %544 = stablehlo.multiply %543, %541 : tensor<32x512x4096xbf16>
    %545 = stablehlo.multiply %544, %126 : tensor<32x512x4096xbf16>
    %546 = stablehlo.add %542, %545 : tensor<32x512x4096xbf16>
    %547 = stablehlo.dot_general %546, %120, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<32x512x1024xbf16>) -> tensor<4096x1024xbf16>
    %548 = stablehlo.transpose %547, dims = [1, 0] : (tensor<4096x1024xbf16>) -> tensor<1024x4096xbf16>
    %549 = stablehlo.dot_general %546, %20, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x4096xbf16>, tensor<1024x4096xbf16>) -> tensor<32x512x1024xbf16>
    %550 = stablehlo.multiply %117, %549 : tensor<32x512x1024xbf16>
    %cst_117 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %551 = stablehlo.reduce(%550 init: %cst_117) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %552 = stablehlo.reshape %551 : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %553 = stablehlo.broadcast_in_dim %118, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %554 = stablehlo.multiply %549, %553 : tensor<32x512x1024xbf16>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %555 = stablehlo.reduce(%552 init: %cst_118) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %556 = stablehlo.convert %554 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %557 = stablehlo.multiply %108, %556 : tensor<32x512x1024xf32>
    %cst_119 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %558 = stablehlo.reduce(%557 init: %cst_119) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %559 = stablehlo.reshape %558 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %560 = stablehlo.broadcast_in_dim %111, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %561 = stablehlo.multiply %556, %560 : tensor<32x512x1024xf32>
    %562 = stablehlo.multiply %559, %114 : tensor<32x512x1xf32>
    %563 = stablehlo.negate %561 : tensor<32x512x1024xf32>
    %cst_120 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %564 = stablehlo.reduce(%563 init: %cst_120) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %565 = stablehlo.reshape %564 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_121 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %566 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %567 = stablehlo.divide %562, %566 : tensor<32x512x1xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %568 = stablehlo.reduce(%567 init: %cst_122) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %569 = stablehlo.broadcast_in_dim %568, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %570 = stablehlo.multiply %569, %102 : tensor<32x512x1024xf32>
    %571 = stablehlo.negate %570 : tensor<32x512x1024xf32>
    %cst_123 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %572 = stablehlo.reduce(%571 init: %cst_123) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %573 = stablehlo.reshape %572 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %574 = stablehlo.add %561, %570 : tensor<32x512x1024xf32>
    %575 = stablehlo.add %565, %573 : tensor<32x512x1xf32>
    %cst_124 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %576 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %577 = stablehlo.divide %575, %576 : tensor<32x512x1xf32>
    %cst_125 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %578 = stablehlo.reduce(%577 init: %cst_125) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %579 = stablehlo.broadcast_in_dim %578, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %580 = stablehlo.add %574, %579 : tensor<32x512x1024xf32>
    %581 = stablehlo.convert %580 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %582 = stablehlo.add %528, %581 : tensor<32x512x1024xbf16>
    %583 = stablehlo.broadcast_in_dim %555, dims = [1] : (tensor<1024xbf16>) -> tensor<1x1024xbf16>
    %cst_126 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %584 = stablehlo.pad %583, %cst_126, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<1x1024xbf16>, tensor<bf16>) -> tensor<2x1024xbf16>
    %585 = sdy.sharding_constraint %582 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %586 = stablehlo.dot_general %585, %87, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<32x512x16x64xbf16>) -> tensor<1024x16x64xbf16>
    %587 = stablehlo.transpose %586, dims = [1, 2, 0] : (tensor<1024x16x64xbf16>) -> tensor<16x64x1024xbf16>
    %588 = stablehlo.dot_general %585, %18, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<32x512x1024xbf16>, tensor<16x64x1024xbf16>) -> tensor<32x512x16x64xbf16>
    %589 = stablehlo.transpose %588, dims = [0, 2, 3, 1] : (tensor<32x512x16x64xbf16>) -> tensor<32x16x64x512xbf16>
    %590 = stablehlo.dot_general %589, %63, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<32x16x64x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x512xbf16>
    %591 = stablehlo.dot_general %589, %85, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<32x16x64x512xbf16>, tensor<32x16x512x512xbf16>) -> tensor<32x16x64x512xbf16>
    %592 = stablehlo.transpose %591, dims = [0, 3, 1, 2] : (tensor<32x16x64x512xbf16>) -> tensor<32x512x16x64xbf16>
    %593 = stablehlo.convert %590 : (tensor<32x16x512x512xbf16>) -> tensor<32x16x512x512xf32>
    %594 = stablehlo.broadcast_in_dim %84, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %595 = stablehlo.multiply %593, %594 : tensor<32x16x512x512xf32>
    %596 = stablehlo.multiply %595, %77 : tensor<32x16x512x512xf32>
    %cst_127 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %597 = stablehlo.reduce(%596 init: %cst_127) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x512xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %598 = stablehlo.reshape %597 : (tensor<32x16x512xf32>) -> tensor<32x16x512x1xf32>
    %599 = stablehlo.negate %598 : tensor<32x16x512x1xf32>
    %600 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2, 3] : (tensor<32x16x512x1xf32>) -> tensor<32x16x512x512xf32>
    %601 = stablehlo.divide %593, %600 : tensor<32x16x512x512xf32>
    %cst_128 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %602 = stablehlo.reduce(%599 init: %cst_128) applies stablehlo.add across dimensions = [3] : (tensor<32x16x512x1xf32>, tensor<f32>) -> tensor<32x16x512xf32>
    %603 = stablehlo.broadcast_in_dim %602, dims = [0, 1, 2] : (tensor<32x16x512xf32>) -> tensor<32x16x512x512xf32>
    %604 = stablehlo.add %601, %603 : tensor<32x16x512x512xf32>
    %605 = stablehlo.multiply %604, %77 : tensor<32x16x512x512xf32>
    %606 = call @_where_1(%70#1, %605) : (tensor<32x16x512x512xi1>, tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xf32>
    %cst_129 = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %607 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %608 = stablehlo.multiply %606, %607 : tensor<32x16x512x512xf32>
    %609 = stablehlo.convert %608 : (tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xbf16>
    %610 = stablehlo.dot_general %609, %61, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x16x512x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x64xbf16>
    %611 = stablehlo.transpose %610, dims = [0, 2, 1, 3] : (tensor<32x16x512x64xbf16>) -> tensor<32x512x16x64xbf16>
    %612 = stablehlo.dot_general %609, %62, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x16x512x512xbf16>, tensor<32x512x16x64xbf16>) -> tensor<32x16x512x64xbf16>
    %613 = stablehlo.transpose %612, dims = [0, 2, 1, 3] : (tensor<32x16x512x64xbf16>) -> tensor<32x512x16x64xbf16>
    %614 = sdy.sharding_constraint %592 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %615 = sdy.sharding_constraint %611 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %616 = sdy.sharding_constraint %613 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<32x512x16x64xbf16>
    %617 = stablehlo.broadcast_in_dim %614, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %618 = stablehlo.pad %617, %cst_130, low = [2, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %619 = stablehlo.broadcast_in_dim %615, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_131 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %620 = stablehlo.pad %619, %cst_131, low = [1, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %621 = stablehlo.add %618, %620 : tensor<3x32x512x16x64xbf16>
    %622 = stablehlo.broadcast_in_dim %616, dims = [1, 2, 3, 4] : (tensor<32x512x16x64xbf16>) -> tensor<1x32x512x16x64xbf16>
    %cst_132 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %623 = stablehlo.pad %622, %cst_132, low = [0, 0, 0, 0, 0], high = [2, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x32x512x16x64xbf16>, tensor<bf16>) -> tensor<3x32x512x16x64xbf16>
    %624 = stablehlo.add %621, %623 : tensor<3x32x512x16x64xbf16>
    %625 = stablehlo.transpose %624, dims = [1, 2, 0, 3, 4] : (tensor<3x32x512x16x64xbf16>) -> tensor<32x512x3x16x64xbf16>
    %626 = stablehlo.dot_general %625, %52, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<32x512x3x16x64xbf16>, tensor<32x512x1024xbf16>) -> tensor<3x16x64x1024xbf16>
    %627 = stablehlo.transpose %626, dims = [3, 0, 1, 2] : (tensor<3x16x64x1024xbf16>) -> tensor<1024x3x16x64xbf16>
    %628 = stablehlo.dot_general %625, %16, contracting_dims = [2, 3, 4] x [1, 2, 3], precision = [DEFAULT, DEFAULT] : (tensor<32x512x3x16x64xbf16>, tensor<1024x3x16x64xbf16>) -> tensor<32x512x1024xbf16>
    %629 = stablehlo.multiply %49, %628 : tensor<32x512x1024xbf16>
    %cst_133 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %630 = stablehlo.reduce(%629 init: %cst_133) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %631 = stablehlo.reshape %630 : (tensor<1024xbf16>) -> tensor<1x1x1024xbf16>
    %632 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2] : (tensor<1x1x1024xbf16>) -> tensor<32x512x1024xbf16>
    %633 = stablehlo.multiply %628, %632 : tensor<32x512x1024xbf16>
    %cst_134 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %634 = stablehlo.reduce(%631 init: %cst_134) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x1024xbf16>, tensor<bf16>) -> tensor<1024xbf16>
    %635 = stablehlo.convert %633 : (tensor<32x512x1024xbf16>) -> tensor<32x512x1024xf32>
    %636 = stablehlo.multiply %40, %635 : tensor<32x512x1024xf32>
    %cst_135 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %637 = stablehlo.reduce(%636 init: %cst_135) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %638 = stablehlo.reshape %637 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %639 = stablehlo.broadcast_in_dim %43, dims = [0, 1, 2] : (tensor<32x512x1xf32>) -> tensor<32x512x1024xf32>
    %640 = stablehlo.multiply %635, %639 : tensor<32x512x1024xf32>
    %641 = stablehlo.multiply %638, %46 : tensor<32x512x1xf32>
    %642 = stablehlo.negate %640 : tensor<32x512x1024xf32>
    %cst_136 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %643 = stablehlo.reduce(%642 init: %cst_136) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %644 = stablehlo.reshape %643 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %cst_137 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %645 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %646 = stablehlo.divide %641, %645 : tensor<32x512x1xf32>
    %cst_138 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %647 = stablehlo.reduce(%646 init: %cst_138) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %648 = stablehlo.broadcast_in_dim %647, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %649 = stablehlo.multiply %648, %34 : tensor<32x512x1024xf32>
    %650 = stablehlo.negate %649 : tensor<32x512x1024xf32>
    %cst_139 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %651 = stablehlo.reduce(%650 init: %cst_139) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1024xf32>, tensor<f32>) -> tensor<32x512xf32>
    %652 = stablehlo.reshape %651 : (tensor<32x512xf32>) -> tensor<32x512x1xf32>
    %653 = stablehlo.add %640, %649 : tensor<32x512x1024xf32>
    %654 = stablehlo.add %644, %652 : tensor<32x512x1xf32>
    %cst_140 = stablehlo.constant dense<1.024000e+03> : tensor<f32>
    %655 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %656 = stablehlo.divide %654, %655 : tensor<32x512x1xf32>
    %cst_141 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %657 = stablehlo.reduce(%656 init: %cst_141) applies stablehlo.add across dimensions = [2] : (tensor<32x512x1xf32>, tensor<f32>) -> tensor<32x512xf32>
    %658 = stablehlo.broadcast_in_dim %657, dims = [0, 1] : (tensor<32x512xf32>) -> tensor<32x512x1024xf32>
    %659 = stablehlo.add %653, %658 : tensor<32x512x1024xf32>
    %660 = stablehlo.convert %659 : (tensor<32x512x1024xf32>) -> tensor<32x512x1024xbf16>
    %661 = stablehlo.add %585, %660 : tensor<32x512x1024xbf16>
    %662 = stablehlo.broadcast_in_dim %634, dims = [1] : (tensor<1024xbf16>) -> tensor<1x1024xbf16>
    %cst_142 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %663 = stablehlo.pad %662, %cst_142, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<1x1024xbf16>, tensor<bf16>) -> tensor<2x1024xbf16>
    %664 = stablehlo.add %584, %663 : tensor<2x1024xbf16>
    %665 = stablehlo.broadcast_in_dim %530, dims = [1, 2] : (tensor<4096x1024xbf16>) -> tensor<1x4096x1024xbf16>
    %cst_143 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %666 = stablehlo.pad %665, %cst_143, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x4096x1024xbf16>, tensor<bf16>) -> tensor<2x4096x1024xbf16>
    %667 = stablehlo.add %519, %666 : tensor<2x4096x1024xbf16>
    %668 = stablehlo.broadcast_in_dim %548, dims = [1, 2] : (tensor<1024x4096xbf16>) -> tensor<1x1024x4096xbf16>
    %cst_144 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %669 = stablehlo.pad %668, %cst_144, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x1024x4096xbf16>, tensor<bf16>) -> tensor<2x1024x4096xbf16>
    %670 = stablehlo.add %521, %669 : tensor<2x1024x4096xbf16>
    %671 = stablehlo.broadcast_in_dim %587, dims = [1, 2, 3] : (tensor<16x64x1024xbf16>) -> tensor<1x16x64x1024xbf16>
    %cst_145 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %672 = stablehlo.pad %671, %cst_145, low = [0, 0, 0, 0], high = [1, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x16x64x1024xbf16>, tensor<bf16>) -> tensor<2x16x64x1024xbf16>
    %673 = stablehlo.add %523, %672 : tensor<2x16x64x1024xbf16>
    %674 = stablehlo.broadcast_in_dim %627, dims = [1, 2, 3, 4] : (tensor<1024x3x16x64xbf16>) -> tensor<1x1024x3x16x64xbf16>
    %cst_146 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %675 = stablehlo.pad %674, %cst_146, low = [0, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x1024x3x16x64xbf16>, tensor<bf16>) -> tensor<2x1024x3x16x64xbf16>
    %676 = stablehlo.add %525, %675 : tensor<2x1024x3x16x64xbf16>
    %677 = stablehlo.broadcast_in_dim %664, dims = [1, 2] : (tensor<2x1024xbf16>) -> tensor<1x2x1024xbf16>
    %cst_147 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %678 = stablehlo.pad %677, %cst_147, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x2x1024xbf16>, tensor<bf16>) -> tensor<2x2x1024xbf16>
    %679 = stablehlo.add %527, %678 : tensor<2x2x1024xbf16>
    %680 = sdy.sharding_constraint %661 <@mesh, [{"data"}, {}, {}]> : tensor<32x512x1024xbf16>
    %cst_148 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %681 = stablehlo.reduce(%680 init: %cst_148) applies stablehlo.add across dimensions = [0] : (tensor<32x512x1024xbf16>, tensor<bf16>) -> tensor<512x1024xbf16>
    %682 = stablehlo.reshape %681 : (tensor<512x1024xbf16>) -> tensor<1x512x1024xbf16>
    %cst_149 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %683 = stablehlo.reduce(%682 init: %cst_149) applies stablehlo.add across dimensions = [0] : (tensor<1x512x1024xbf16>, tensor<bf16>) -> tensor<512x1024xbf16>
    %cst_150 = stablehlo.constant dense<0.000000e+00> : tensor<bf16>
    %684 = stablehlo.broadcast_in_dim %cst_150, dims = [] : (tensor<bf16>) -> tensor<32768x1024xbf16>
    %685 = "stablehlo.scatter"(%684, %7, %680) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg9: tensor<bf16>, %arg10: tensor<bf16>):
      %711 = stablehlo.add %arg9, %arg10 : tensor<bf16>
      stablehlo.return %711 : tensor<bf16>
    }) : (tensor<32768x1024xbf16>, tensor<32x512x1xi32>, tensor<32x512x1024xbf16>) -> tensor<32768x1024xbf16>
    %686 = stablehlo.add %348, %685 : tensor<32768x1024xbf16>
    %cst_151 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %687 = stablehlo.broadcast_in_dim %cst_151, dims = [] : (tensor<bf16>) -> tensor<2x4096x1024xbf16>
    %688 = stablehlo.multiply %687, %667 : tensor<2x4096x1024xbf16>
    %689 = stablehlo.subtract %arg0, %688 : tensor<2x4096x1024xbf16>
    %cst_152 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %690 = stablehlo.broadcast_in_dim %cst_152, dims = [] : (tensor<bf16>) -> tensor<32768x1024xbf16>
    %691 = stablehlo.multiply %690, %686 : tensor<32768x1024xbf16>
    %692 = stablehlo.subtract %arg1, %691 : tensor<32768x1024xbf16>
    %cst_153 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %693 = stablehlo.broadcast_in_dim %cst_153, dims = [] : (tensor<bf16>) -> tensor<1024xbf16>
    %694 = stablehlo.multiply %693, %354 : tensor<1024xbf16>
    %695 = stablehlo.subtract %arg2, %694 : tensor<1024xbf16>
    %cst_154 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %696 = stablehlo.broadcast_in_dim %cst_154, dims = [] : (tensor<bf16>) -> tensor<2x2x1024xbf16>
    %697 = stablehlo.multiply %696, %679 : tensor<2x2x1024xbf16>
    %698 = stablehlo.subtract %arg3, %697 : tensor<2x2x1024xbf16>
    %cst_155 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %699 = stablehlo.broadcast_in_dim %cst_155, dims = [] : (tensor<bf16>) -> tensor<2x16x64x1024xbf16>
    %700 = stablehlo.multiply %699, %673 : tensor<2x16x64x1024xbf16>
    %701 = stablehlo.subtract %arg4, %700 : tensor<2x16x64x1024xbf16>
    %cst_156 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %702 = stablehlo.broadcast_in_dim %cst_156, dims = [] : (tensor<bf16>) -> tensor<512x1024xbf16>
    %703 = stablehlo.multiply %702, %683 : tensor<512x1024xbf16>
    %704 = stablehlo.subtract %arg5, %703 : tensor<512x1024xbf16>
    %cst_157 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %705 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<bf16>) -> tensor<2x1024x3x16x64xbf16>
    %706 = stablehlo.multiply %705, %676 : tensor<2x1024x3x16x64xbf16>
    %707 = stablehlo.subtract %arg6, %706 : tensor<2x1024x3x16x64xbf16>
    %cst_158 = stablehlo.constant dense<1.000980e-01> : tensor<bf16>
    %708 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<bf16>) -> tensor<2x1024x4096xbf16>
    %709 = stablehlo.multiply %708, %670 : tensor<2x1024x4096xbf16>
    %710 = stablehlo.subtract %arg7, %709 : tensor<2x1024x4096xbf16>
    return %689, %692, %695, %698, %701, %704, %707, %710, %328 : tensor<2x4096x1024xbf16>, tensor<32768x1024xbf16>, tensor<1024xbf16>, tensor<2x2x1024xbf16>, tensor<2x16x64x1024xbf16>, tensor<512x1024xbf16>, tensor<2x1024x3x16x64xbf16>, tensor<2x1024x4096xbf16>, tensor<f32>
  }
  func.func private @tril(%arg0: tensor<512x512xi1>) -> tensor<512x512xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<512x512xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<512x512xi32>
    %2 = stablehlo.add %0, %1 : tensor<512x512xi32>
    %3 = stablehlo.iota dim = 1 : tensor<512x512xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<512x512xi32>, tensor<512x512xi32>) -> tensor<512x512xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<512x512xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<512x512xi1>, tensor<512x512xi1>
    return %6 : tensor<512x512xi1>
  }
  func.func private @_where(%arg0: tensor<512x512xi1>, %arg1: tensor<32x16x512x512xf32>, %arg2: tensor<f32>) -> (tensor<32x16x512x512xf32>, tensor<32x16x512x512xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<512x512xi1>) -> tensor<32x16x512x512xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<32x16x512x512xi1>, tensor<32x16x512x512xf32>
    return %3, %1 : tensor<32x16x512x512xf32>, tensor<32x16x512x512xi1>
  }
  func.func private @take_along_axis(%arg0: tensor<32x512x32768xf32>, %arg1: tensor<32x512x1xi32>) -> (tensor<32x512x1xf32>, tensor<32x512x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x512x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<32x512x1xi32>, tensor<32x512x1xi32>) -> tensor<32x512x1xi1>
    %c_0 = stablehlo.constant dense<32768> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<32x512x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<32x512x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<32x512x1xi1>, tensor<32x512x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<32x512x1xi32>) -> tensor<32x512x1x1xi32>
    %c_1 = stablehlo.constant dense<32767> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<32x512x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<32x512x1x1xi32>, tensor<32x512x1x1xi32>) -> tensor<32x512x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<32x512x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<32x512x1x1xi32>, tensor<32x512x1x1xi32>) -> tensor<32x512x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<32x512x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<32x512x1x1xi1>, tensor<i1>) -> tensor<32x512x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<32x512x32768xf32>, tensor<32x512x1x1xi32>) -> tensor<32x512x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x512x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<32x512x1xi1>, tensor<32x512x1xf32>
    return %15, %5 : tensor<32x512x1xf32>, tensor<32x512x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<32x512x1x1xi32>, %arg1: tensor<32x512x1xf32>) -> tensor<32x512x32768xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x512x32768xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<32x512x32768xf32>, tensor<32x512x1x1xi32>, tensor<32x512x1xf32>) -> tensor<32x512x32768xf32>
    return %1 : tensor<32x512x32768xf32>
  }
  func.func private @_where_1(%arg0: tensor<32x16x512x512xi1>, %arg1: tensor<32x16x512x512xf32>) -> tensor<32x16x512x512xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x16x512x512xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<32x16x512x512xi1>, tensor<32x16x512x512xf32>
    return %1 : tensor<32x16x512x512xf32>
  }
}
