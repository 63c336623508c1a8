module @jit_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<2x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {"data"}]>}, %arg1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}, %arg2: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<2x2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}, %arg4: tensor<2x4x4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}, {"data"}]>}, %arg5: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, %arg6: tensor<2x16x3x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}, {"model"}, {}]>}, %arg7: tensor<2x16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {"model"}]>}, %arg8: tensor<4x9xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<2x32x16xf32> {jax.result_info = "result[0]['down']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {"data"}]>}, tensor<32x16xf32> {jax.result_info = "result[0]['embed']", sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}, tensor<16xf32> {jax.result_info = "result[0]['last']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<2x2x16xf32> {jax.result_info = "result[0]['norm']", sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}, tensor<2x4x4x16xf32> {jax.result_info = "result[0]['out']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}, {"data"}]>}, tensor<8x16xf32> {jax.result_info = "result[0]['position']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, tensor<2x16x3x4x4xf32> {jax.result_info = "result[0]['qkv']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}, {"model"}, {}]>}, tensor<2x16x32xf32> {jax.result_info = "result[0]['up']", sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {"model"}]>}, tensor<f32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %0 = stablehlo.slice %arg8 [0:4, 0:8] : (tensor<4x9xi32>) -> tensor<4x8xi32>
    %1 = stablehlo.slice %arg8 [0:4, 1:9] : (tensor<4x9xi32>) -> tensor<4x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %3 = stablehlo.compare LT, %0, %2, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %5 = stablehlo.add %0, %4 : tensor<4x8xi32>
    %6 = stablehlo.select %3, %5, %0 : tensor<4x8xi1>, tensor<4x8xi32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %8 = "stablehlo.gather"(%arg1, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 16>}> : (tensor<32x16xf32>, tensor<4x8x1xi32>) -> tensor<4x8x16xf32>
    %9 = stablehlo.broadcast_in_dim %arg5, dims = [1, 2] : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<1x8x16xf32>) -> tensor<4x8x16xf32>
    %11 = stablehlo.add %8, %10 : tensor<4x8x16xf32>
    %12 = sdy.sharding_constraint %11 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %13 = stablehlo.slice %arg3 [0:1, 0:2, 0:16] : (tensor<2x2x16xf32>) -> tensor<1x2x16xf32>
    %14 = stablehlo.reshape %13 : (tensor<1x2x16xf32>) -> tensor<2x16xf32>
    %15 = stablehlo.slice %arg6 [0:1, 0:16, 0:3, 0:4, 0:4] : (tensor<2x16x3x4x4xf32>) -> tensor<1x16x3x4x4xf32>
    %16 = stablehlo.reshape %15 : (tensor<1x16x3x4x4xf32>) -> tensor<16x3x4x4xf32>
    %17 = stablehlo.slice %arg4 [0:1, 0:4, 0:4, 0:16] : (tensor<2x4x4x16xf32>) -> tensor<1x4x4x16xf32>
    %18 = stablehlo.reshape %17 : (tensor<1x4x4x16xf32>) -> tensor<4x4x16xf32>
    %19 = stablehlo.slice %arg7 [0:1, 0:16, 0:32] : (tensor<2x16x32xf32>) -> tensor<1x16x32xf32>
    %20 = stablehlo.reshape %19 : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %21 = stablehlo.slice %arg0 [0:1, 0:32, 0:16] : (tensor<2x32x16xf32>) -> tensor<1x32x16xf32>
    %22 = stablehlo.reshape %21 : (tensor<1x32x16xf32>) -> tensor<32x16xf32>
    %23 = stablehlo.slice %14 [0:1, 0:16] : (tensor<2x16xf32>) -> tensor<1x16xf32>
    %24 = stablehlo.reshape %23 : (tensor<1x16xf32>) -> tensor<16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_1 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %27 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %28 = stablehlo.divide %26, %27 : tensor<4x8x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %30 = stablehlo.subtract %12, %29 : tensor<4x8x16xf32>
    %31 = chlo.square %30 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %33 = stablehlo.multiply %32, %30 : tensor<4x8x16xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %34 = stablehlo.reduce(%31 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_4 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %36 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %37 = stablehlo.divide %35, %36 : tensor<4x8x1xf32>
    %38 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %39 = stablehlo.subtract %12, %38 : tensor<4x8x16xf32>
    %cst_5 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %41 = stablehlo.add %37, %40 : tensor<4x8x1xf32>
    %42 = stablehlo.rsqrt %41 : tensor<4x8x1xf32>
    %43 = stablehlo.divide %42, %41 : tensor<4x8x1xf32>
    %cst_6 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %45 = stablehlo.multiply %44, %43 : tensor<4x8x1xf32>
    %46 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %47 = stablehlo.multiply %39, %46 : tensor<4x8x16xf32>
    %48 = stablehlo.broadcast_in_dim %24, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %50 = stablehlo.multiply %47, %49 : tensor<4x8x16xf32>
    %51 = stablehlo.dot_general %50, %16, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x3x4x4xf32>) -> tensor<4x8x3x4x4xf32>
    %52 = stablehlo.transpose %51, dims = [2, 0, 1, 3, 4] : (tensor<4x8x3x4x4xf32>) -> tensor<3x4x8x4x4xf32>
    %53 = stablehlo.slice %52 [0:1, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %54 = stablehlo.reshape %53 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %55 = stablehlo.slice %52 [1:2, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %56 = stablehlo.reshape %55 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %57 = stablehlo.slice %52 [2:3, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %58 = stablehlo.reshape %57 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %59 = sdy.sharding_constraint %54 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %60 = sdy.sharding_constraint %56 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %61 = sdy.sharding_constraint %58 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %62 = stablehlo.dot_general %59, %60, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %cst_7 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %63 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %64 = stablehlo.multiply %62, %63 : tensor<4x4x8x8xf32>
    %c_8 = stablehlo.constant dense<true> : tensor<i1>
    %65 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %66 = call @tril(%65) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %cst_9 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %67:2 = call @_where(%66, %64, %cst_9) : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>)
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %68 = stablehlo.reduce(%67#0 init: %cst_10) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %69 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %70 = stablehlo.maximum %69, %68 : tensor<4x4x8xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %73 = stablehlo.subtract %67#0, %72 : tensor<4x4x8x8xf32>
    %74 = stablehlo.exponential %73 : tensor<4x4x8x8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %75 = stablehlo.reduce(%74 init: %cst_12) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %77 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %78 = stablehlo.divide %74, %77 : tensor<4x4x8x8xf32>
    %79 = stablehlo.multiply %76, %76 : tensor<4x4x8x1xf32>
    %cst_13 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %80 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %81 = stablehlo.divide %80, %79 : tensor<4x4x8x1xf32>
    %82 = stablehlo.dot_general %61, %78, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %83 = stablehlo.transpose %82, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %84 = stablehlo.dot_general %83, %18, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %85 = stablehlo.add %12, %84 : tensor<4x8x16xf32>
    %86 = sdy.sharding_constraint %85 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %87 = stablehlo.slice %14 [1:2, 0:16] : (tensor<2x16xf32>) -> tensor<1x16xf32>
    %88 = stablehlo.reshape %87 : (tensor<1x16xf32>) -> tensor<16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %89 = stablehlo.reduce(%86 init: %cst_14) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %90 = stablehlo.broadcast_in_dim %89, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_15 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %91 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %92 = stablehlo.divide %90, %91 : tensor<4x8x1xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %94 = stablehlo.subtract %86, %93 : tensor<4x8x16xf32>
    %95 = chlo.square %94 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_16 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %96 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %97 = stablehlo.multiply %96, %94 : tensor<4x8x16xf32>
    %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %98 = stablehlo.reduce(%95 init: %cst_17) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %99 = stablehlo.broadcast_in_dim %98, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_18 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %100 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %101 = stablehlo.divide %99, %100 : tensor<4x8x1xf32>
    %102 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %103 = stablehlo.subtract %86, %102 : tensor<4x8x16xf32>
    %cst_19 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %105 = stablehlo.add %101, %104 : tensor<4x8x1xf32>
    %106 = stablehlo.rsqrt %105 : tensor<4x8x1xf32>
    %107 = stablehlo.divide %106, %105 : tensor<4x8x1xf32>
    %cst_20 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %108 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %109 = stablehlo.multiply %108, %107 : tensor<4x8x1xf32>
    %110 = stablehlo.broadcast_in_dim %106, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %111 = stablehlo.multiply %103, %110 : tensor<4x8x16xf32>
    %112 = stablehlo.broadcast_in_dim %88, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %113 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %114 = stablehlo.multiply %111, %113 : tensor<4x8x16xf32>
    %115 = stablehlo.dot_general %114, %20, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %116 = stablehlo.multiply %115, %115 : tensor<4x8x32xf32>
    %117 = stablehlo.multiply %116, %115 : tensor<4x8x32xf32>
    %118 = stablehlo.multiply %115, %115 : tensor<4x8x32xf32>
    %cst_21 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %119 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %120 = stablehlo.multiply %119, %118 : tensor<4x8x32xf32>
    %cst_22 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %121 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %122 = stablehlo.multiply %121, %117 : tensor<4x8x32xf32>
    %123 = stablehlo.add %115, %122 : tensor<4x8x32xf32>
    %cst_23 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %124 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %125 = stablehlo.multiply %124, %123 : tensor<4x8x32xf32>
    %126 = stablehlo.tanh %125 : tensor<4x8x32xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %127 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %128 = stablehlo.subtract %127, %126 : tensor<4x8x32xf32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %129 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %130 = stablehlo.add %129, %126 : tensor<4x8x32xf32>
    %cst_26 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %131 = stablehlo.broadcast_in_dim %cst_26, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %132 = stablehlo.multiply %131, %130 : tensor<4x8x32xf32>
    %133 = stablehlo.multiply %115, %132 : tensor<4x8x32xf32>
    %134 = sdy.sharding_constraint %133 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %135 = stablehlo.dot_general %134, %22, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
    %136 = stablehlo.add %86, %135 : tensor<4x8x16xf32>
    %137 = sdy.sharding_constraint %136 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %138 = stablehlo.slice %arg3 [1:2, 0:2, 0:16] : (tensor<2x2x16xf32>) -> tensor<1x2x16xf32>
    %139 = stablehlo.reshape %138 : (tensor<1x2x16xf32>) -> tensor<2x16xf32>
    %140 = stablehlo.slice %arg6 [1:2, 0:16, 0:3, 0:4, 0:4] : (tensor<2x16x3x4x4xf32>) -> tensor<1x16x3x4x4xf32>
    %141 = stablehlo.reshape %140 : (tensor<1x16x3x4x4xf32>) -> tensor<16x3x4x4xf32>
    %142 = stablehlo.slice %arg4 [1:2, 0:4, 0:4, 0:16] : (tensor<2x4x4x16xf32>) -> tensor<1x4x4x16xf32>
    %143 = stablehlo.reshape %142 : (tensor<1x4x4x16xf32>) -> tensor<4x4x16xf32>
    %144 = stablehlo.slice %arg7 [1:2, 0:16, 0:32] : (tensor<2x16x32xf32>) -> tensor<1x16x32xf32>
    %145 = stablehlo.reshape %144 : (tensor<1x16x32xf32>) -> tensor<16x32xf32>
    %146 = stablehlo.slice %arg0 [1:2, 0:32, 0:16] : (tensor<2x32x16xf32>) -> tensor<1x32x16xf32>
    %147 = stablehlo.reshape %146 : (tensor<1x32x16xf32>) -> tensor<32x16xf32>
    %148 = stablehlo.slice %139 [0:1, 0:16] : (tensor<2x16xf32>) -> tensor<1x16xf32>
    %149 = stablehlo.reshape %148 : (tensor<1x16xf32>) -> tensor<16xf32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %150 = stablehlo.reduce(%137 init: %cst_27) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %151 = stablehlo.broadcast_in_dim %150, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_28 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %152 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %153 = stablehlo.divide %151, %152 : tensor<4x8x1xf32>
    %154 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %155 = stablehlo.subtract %137, %154 : tensor<4x8x16xf32>
    %156 = chlo.square %155 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_29 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %157 = stablehlo.broadcast_in_dim %cst_29, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %158 = stablehlo.multiply %157, %155 : tensor<4x8x16xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %159 = stablehlo.reduce(%156 init: %cst_30) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_31 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %161 = stablehlo.broadcast_in_dim %cst_31, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %162 = stablehlo.divide %160, %161 : tensor<4x8x1xf32>
    %163 = stablehlo.broadcast_in_dim %153, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %164 = stablehlo.subtract %137, %163 : tensor<4x8x16xf32>
    %cst_32 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %165 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %166 = stablehlo.add %162, %165 : tensor<4x8x1xf32>
    %167 = stablehlo.rsqrt %166 : tensor<4x8x1xf32>
    %168 = stablehlo.divide %167, %166 : tensor<4x8x1xf32>
    %cst_33 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %169 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %170 = stablehlo.multiply %169, %168 : tensor<4x8x1xf32>
    %171 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %172 = stablehlo.multiply %164, %171 : tensor<4x8x16xf32>
    %173 = stablehlo.broadcast_in_dim %149, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %174 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %175 = stablehlo.multiply %172, %174 : tensor<4x8x16xf32>
    %176 = stablehlo.dot_general %175, %141, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x3x4x4xf32>) -> tensor<4x8x3x4x4xf32>
    %177 = stablehlo.transpose %176, dims = [2, 0, 1, 3, 4] : (tensor<4x8x3x4x4xf32>) -> tensor<3x4x8x4x4xf32>
    %178 = stablehlo.slice %177 [0:1, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %179 = stablehlo.reshape %178 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %180 = stablehlo.slice %177 [1:2, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %181 = stablehlo.reshape %180 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %182 = stablehlo.slice %177 [2:3, 0:4, 0:8, 0:4, 0:4] : (tensor<3x4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %183 = stablehlo.reshape %182 : (tensor<1x4x8x4x4xf32>) -> tensor<4x8x4x4xf32>
    %184 = sdy.sharding_constraint %179 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %185 = sdy.sharding_constraint %181 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %186 = sdy.sharding_constraint %183 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %187 = stablehlo.dot_general %184, %185, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %cst_34 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %188 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %189 = stablehlo.multiply %187, %188 : tensor<4x4x8x8xf32>
    %c_35 = stablehlo.constant dense<true> : tensor<i1>
    %190 = stablehlo.broadcast_in_dim %c_35, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %191 = call @tril(%190) : (tensor<8x8xi1>) -> tensor<8x8xi1>
    %cst_36 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %192:2 = call @_where(%191, %189, %cst_36) : (tensor<8x8xi1>, tensor<4x4x8x8xf32>, tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>)
    %cst_37 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %193 = stablehlo.reduce(%192#0 init: %cst_37) applies stablehlo.maximum across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %cst_38 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %194 = stablehlo.broadcast_in_dim %cst_38, dims = [] : (tensor<f32>) -> tensor<4x4x8xf32>
    %195 = stablehlo.maximum %194, %193 : tensor<4x4x8xf32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %197 = stablehlo.broadcast_in_dim %196, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %198 = stablehlo.subtract %192#0, %197 : tensor<4x4x8x8xf32>
    %199 = stablehlo.exponential %198 : tensor<4x4x8x8xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %200 = stablehlo.reduce(%199 init: %cst_39) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %201 = stablehlo.broadcast_in_dim %200, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %202 = stablehlo.broadcast_in_dim %201, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %203 = stablehlo.divide %199, %202 : tensor<4x4x8x8xf32>
    %204 = stablehlo.multiply %201, %201 : tensor<4x4x8x1xf32>
    %cst_40 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %205 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<4x4x8x1xf32>
    %206 = stablehlo.divide %205, %204 : tensor<4x4x8x1xf32>
    %207 = stablehlo.dot_general %186, %203, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %208 = stablehlo.transpose %207, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %209 = stablehlo.dot_general %208, %143, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x4x4xf32>, tensor<4x4x16xf32>) -> tensor<4x8x16xf32>
    %210 = stablehlo.add %137, %209 : tensor<4x8x16xf32>
    %211 = sdy.sharding_constraint %210 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %212 = stablehlo.slice %139 [1:2, 0:16] : (tensor<2x16xf32>) -> tensor<1x16xf32>
    %213 = stablehlo.reshape %212 : (tensor<1x16xf32>) -> tensor<16xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %214 = stablehlo.reduce(%211 init: %cst_41) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %215 = stablehlo.broadcast_in_dim %214, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_42 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %217 = stablehlo.divide %215, %216 : tensor<4x8x1xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %219 = stablehlo.subtract %211, %218 : tensor<4x8x16xf32>
    %220 = chlo.square %219 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_43 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %221 = stablehlo.broadcast_in_dim %cst_43, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %222 = stablehlo.multiply %221, %219 : tensor<4x8x16xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %223 = stablehlo.reduce(%220 init: %cst_44) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %224 = stablehlo.broadcast_in_dim %223, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_45 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %225 = stablehlo.broadcast_in_dim %cst_45, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %226 = stablehlo.divide %224, %225 : tensor<4x8x1xf32>
    %227 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %228 = stablehlo.subtract %211, %227 : tensor<4x8x16xf32>
    %cst_46 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %229 = stablehlo.broadcast_in_dim %cst_46, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %230 = stablehlo.add %226, %229 : tensor<4x8x1xf32>
    %231 = stablehlo.rsqrt %230 : tensor<4x8x1xf32>
    %232 = stablehlo.divide %231, %230 : tensor<4x8x1xf32>
    %cst_47 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %233 = stablehlo.broadcast_in_dim %cst_47, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %234 = stablehlo.multiply %233, %232 : tensor<4x8x1xf32>
    %235 = stablehlo.broadcast_in_dim %231, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %236 = stablehlo.multiply %228, %235 : tensor<4x8x16xf32>
    %237 = stablehlo.broadcast_in_dim %213, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %238 = stablehlo.broadcast_in_dim %237, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %239 = stablehlo.multiply %236, %238 : tensor<4x8x16xf32>
    %240 = stablehlo.dot_general %239, %145, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %241 = stablehlo.multiply %240, %240 : tensor<4x8x32xf32>
    %242 = stablehlo.multiply %241, %240 : tensor<4x8x32xf32>
    %243 = stablehlo.multiply %240, %240 : tensor<4x8x32xf32>
    %cst_48 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %244 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %245 = stablehlo.multiply %244, %243 : tensor<4x8x32xf32>
    %cst_49 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %246 = stablehlo.broadcast_in_dim %cst_49, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %247 = stablehlo.multiply %246, %242 : tensor<4x8x32xf32>
    %248 = stablehlo.add %240, %247 : tensor<4x8x32xf32>
    %cst_50 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %249 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %250 = stablehlo.multiply %249, %248 : tensor<4x8x32xf32>
    %251 = stablehlo.tanh %250 : tensor<4x8x32xf32>
    %cst_51 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %252 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %253 = stablehlo.subtract %252, %251 : tensor<4x8x32xf32>
    %cst_52 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %254 = stablehlo.broadcast_in_dim %cst_52, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %255 = stablehlo.add %254, %251 : tensor<4x8x32xf32>
    %cst_53 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %256 = stablehlo.broadcast_in_dim %cst_53, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %257 = stablehlo.multiply %256, %255 : tensor<4x8x32xf32>
    %258 = stablehlo.multiply %240, %257 : tensor<4x8x32xf32>
    %259 = sdy.sharding_constraint %258 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %260 = stablehlo.dot_general %259, %147, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
    %261 = stablehlo.add %211, %260 : tensor<4x8x16xf32>
    %262 = sdy.sharding_constraint %261 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %263 = stablehlo.reduce(%262 init: %cst_54) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %264 = stablehlo.broadcast_in_dim %263, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_55 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %265 = stablehlo.broadcast_in_dim %cst_55, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %266 = stablehlo.divide %264, %265 : tensor<4x8x1xf32>
    %267 = stablehlo.broadcast_in_dim %266, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %268 = stablehlo.subtract %262, %267 : tensor<4x8x16xf32>
    %269 = chlo.square %268 : tensor<4x8x16xf32> -> tensor<4x8x16xf32>
    %cst_56 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %270 = stablehlo.broadcast_in_dim %cst_56, dims = [] : (tensor<f32>) -> tensor<4x8x16xf32>
    %271 = stablehlo.multiply %270, %268 : tensor<4x8x16xf32>
    %cst_57 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %272 = stablehlo.reduce(%269 init: %cst_57) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %273 = stablehlo.broadcast_in_dim %272, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_58 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %274 = stablehlo.broadcast_in_dim %cst_58, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %275 = stablehlo.divide %273, %274 : tensor<4x8x1xf32>
    %276 = stablehlo.broadcast_in_dim %266, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %277 = stablehlo.subtract %262, %276 : tensor<4x8x16xf32>
    %cst_59 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %278 = stablehlo.broadcast_in_dim %cst_59, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %279 = stablehlo.add %275, %278 : tensor<4x8x1xf32>
    %280 = stablehlo.rsqrt %279 : tensor<4x8x1xf32>
    %281 = stablehlo.divide %280, %279 : tensor<4x8x1xf32>
    %cst_60 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %282 = stablehlo.broadcast_in_dim %cst_60, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %283 = stablehlo.multiply %282, %281 : tensor<4x8x1xf32>
    %284 = stablehlo.broadcast_in_dim %280, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %285 = stablehlo.multiply %277, %284 : tensor<4x8x16xf32>
    %286 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %287 = stablehlo.broadcast_in_dim %286, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %288 = stablehlo.multiply %285, %287 : tensor<4x8x16xf32>
    %289 = stablehlo.transpose %arg1, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %290 = stablehlo.dot_general %288, %289, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %291 = sdy.sharding_constraint %290 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %292 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %293:2 = call @take_along_axis(%291, %292) : (tensor<4x8x32xf32>, tensor<4x8x1xi32>) -> (tensor<4x8x1xf32>, tensor<4x8x1x1xi32>)
    %294 = stablehlo.reshape %293#0 : (tensor<4x8x1xf32>) -> tensor<4x8xf32>
    %cst_61 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %295 = stablehlo.reduce(%291 init: %cst_61) applies stablehlo.maximum across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %cst_62 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %296 = stablehlo.broadcast_in_dim %cst_62, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %297 = stablehlo.maximum %296, %295 : tensor<4x8xf32>
    %298 = stablehlo.is_finite %297 : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %cst_63 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %299 = stablehlo.broadcast_in_dim %cst_63, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %300 = stablehlo.select %298, %297, %299 : tensor<4x8xi1>, tensor<4x8xf32>
    %301 = stablehlo.broadcast_in_dim %300, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %302 = stablehlo.broadcast_in_dim %301, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %303 = stablehlo.subtract %291, %302 : tensor<4x8x32xf32>
    %304 = stablehlo.exponential %303 : tensor<4x8x32xf32>
    %cst_64 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %305 = stablehlo.reduce(%304 init: %cst_64) applies stablehlo.add across dimensions = [2] : (tensor<4x8x32xf32>, tensor<f32>) -> tensor<4x8xf32>
    %306 = stablehlo.abs %305 : tensor<4x8xf32>
    %cst_65 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %307 = stablehlo.broadcast_in_dim %cst_65, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %308 = stablehlo.compare GE, %305, %307, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %309 = stablehlo.log %306 : tensor<4x8xf32>
    %310 = stablehlo.add %309, %300 : tensor<4x8xf32>
    %311 = stablehlo.subtract %310, %294 : tensor<4x8xf32>
    %cst_66 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %312 = stablehlo.reduce(%311 init: %cst_66) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_67 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %313 = stablehlo.divide %312, %cst_67 : tensor<f32>
    %cst_68 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_69 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %314 = stablehlo.divide %cst_68, %cst_69 : tensor<f32>
    %315 = stablehlo.broadcast_in_dim %314, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %316 = stablehlo.negate %315 : tensor<4x8xf32>
    %317 = stablehlo.divide %315, %306 : tensor<4x8xf32>
    %cst_70 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %318 = stablehlo.broadcast_in_dim %cst_70, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %319 = stablehlo.select %308, %318, %317 : tensor<4x8xi1>, tensor<4x8xf32>
    %320 = stablehlo.select %308, %317, %318 : tensor<4x8xi1>, tensor<4x8xf32>
    %321 = stablehlo.negate %319 : tensor<4x8xf32>
    %322 = stablehlo.add %320, %321 : tensor<4x8xf32>
    %323 = stablehlo.broadcast_in_dim %322, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x32xf32>
    %324 = stablehlo.multiply %323, %304 : tensor<4x8x32xf32>
    %325 = stablehlo.broadcast_in_dim %316, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %326 = call @take_along_axis_0(%293#1, %325) : (tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    %327 = stablehlo.add %324, %326 : tensor<4x8x32xf32>
    %328 = sdy.sharding_constraint %327 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %329 = stablehlo.dot_general %328, %288, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %330 = stablehlo.transpose %329, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %331 = stablehlo.dot_general %328, %289, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %332 = stablehlo.transpose %330, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %333 = stablehlo.multiply %285, %331 : tensor<4x8x16xf32>
    %cst_71 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %334 = stablehlo.reduce(%333 init: %cst_71) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %335 = stablehlo.reshape %334 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %336 = stablehlo.broadcast_in_dim %286, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %337 = stablehlo.multiply %331, %336 : tensor<4x8x16xf32>
    %cst_72 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %338 = stablehlo.reduce(%335 init: %cst_72) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %339 = stablehlo.multiply %277, %337 : tensor<4x8x16xf32>
    %cst_73 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %340 = stablehlo.reduce(%339 init: %cst_73) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %341 = stablehlo.reshape %340 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %342 = stablehlo.broadcast_in_dim %280, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %343 = stablehlo.multiply %337, %342 : tensor<4x8x16xf32>
    %344 = stablehlo.multiply %341, %283 : tensor<4x8x1xf32>
    %345 = stablehlo.negate %343 : tensor<4x8x16xf32>
    %cst_74 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %346 = stablehlo.reduce(%345 init: %cst_74) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %347 = stablehlo.reshape %346 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_75 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %348 = stablehlo.broadcast_in_dim %cst_75, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %349 = stablehlo.divide %344, %348 : tensor<4x8x1xf32>
    %cst_76 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %350 = stablehlo.reduce(%349 init: %cst_76) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %351 = stablehlo.broadcast_in_dim %350, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %352 = stablehlo.multiply %351, %271 : tensor<4x8x16xf32>
    %353 = stablehlo.negate %352 : tensor<4x8x16xf32>
    %cst_77 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %354 = stablehlo.reduce(%353 init: %cst_77) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %355 = stablehlo.reshape %354 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %356 = stablehlo.add %343, %352 : tensor<4x8x16xf32>
    %357 = stablehlo.add %347, %355 : tensor<4x8x1xf32>
    %cst_78 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %358 = stablehlo.broadcast_in_dim %cst_78, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %359 = stablehlo.divide %357, %358 : tensor<4x8x1xf32>
    %cst_79 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %360 = stablehlo.reduce(%359 init: %cst_79) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %361 = stablehlo.broadcast_in_dim %360, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %362 = stablehlo.add %356, %361 : tensor<4x8x16xf32>
    %363 = sdy.sharding_constraint %362 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %364 = stablehlo.dot_general %363, %259, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    %365 = stablehlo.transpose %364, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %366 = stablehlo.dot_general %363, %147, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<32x16xf32>) -> tensor<4x8x32xf32>
    %367 = sdy.sharding_constraint %366 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %368 = stablehlo.multiply %240, %367 : tensor<4x8x32xf32>
    %369 = stablehlo.multiply %367, %257 : tensor<4x8x32xf32>
    %cst_80 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %370 = stablehlo.broadcast_in_dim %cst_80, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %371 = stablehlo.multiply %370, %368 : tensor<4x8x32xf32>
    %372 = stablehlo.multiply %371, %253 : tensor<4x8x32xf32>
    %373 = stablehlo.multiply %372, %251 : tensor<4x8x32xf32>
    %374 = stablehlo.add %372, %373 : tensor<4x8x32xf32>
    %cst_81 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %375 = stablehlo.broadcast_in_dim %cst_81, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %376 = stablehlo.multiply %375, %374 : tensor<4x8x32xf32>
    %377 = stablehlo.add %369, %376 : tensor<4x8x32xf32>
    %cst_82 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %378 = stablehlo.broadcast_in_dim %cst_82, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %379 = stablehlo.multiply %378, %376 : tensor<4x8x32xf32>
    %380 = stablehlo.multiply %379, %245 : tensor<4x8x32xf32>
    %381 = stablehlo.add %377, %380 : tensor<4x8x32xf32>
    %382 = stablehlo.dot_general %381, %239, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %383 = stablehlo.transpose %382, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %384 = stablehlo.dot_general %381, %145, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %385 = stablehlo.multiply %236, %384 : tensor<4x8x16xf32>
    %cst_83 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %386 = stablehlo.reduce(%385 init: %cst_83) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %387 = stablehlo.reshape %386 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %388 = stablehlo.broadcast_in_dim %237, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %389 = stablehlo.multiply %384, %388 : tensor<4x8x16xf32>
    %cst_84 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %390 = stablehlo.reduce(%387 init: %cst_84) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %391 = stablehlo.multiply %228, %389 : tensor<4x8x16xf32>
    %cst_85 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %392 = stablehlo.reduce(%391 init: %cst_85) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %393 = stablehlo.reshape %392 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %394 = stablehlo.broadcast_in_dim %231, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %395 = stablehlo.multiply %389, %394 : tensor<4x8x16xf32>
    %396 = stablehlo.multiply %393, %234 : tensor<4x8x1xf32>
    %397 = stablehlo.negate %395 : tensor<4x8x16xf32>
    %cst_86 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %398 = stablehlo.reduce(%397 init: %cst_86) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %399 = stablehlo.reshape %398 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %400 = stablehlo.add %363, %395 : tensor<4x8x16xf32>
    %cst_87 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %401 = stablehlo.broadcast_in_dim %cst_87, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %402 = stablehlo.divide %396, %401 : tensor<4x8x1xf32>
    %cst_88 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %403 = stablehlo.reduce(%402 init: %cst_88) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %404 = stablehlo.broadcast_in_dim %403, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %405 = stablehlo.multiply %404, %222 : tensor<4x8x16xf32>
    %406 = stablehlo.negate %405 : tensor<4x8x16xf32>
    %cst_89 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %407 = stablehlo.reduce(%406 init: %cst_89) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %408 = stablehlo.reshape %407 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %409 = stablehlo.add %400, %405 : tensor<4x8x16xf32>
    %410 = stablehlo.add %399, %408 : tensor<4x8x1xf32>
    %cst_90 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %411 = stablehlo.broadcast_in_dim %cst_90, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %412 = stablehlo.divide %410, %411 : tensor<4x8x1xf32>
    %cst_91 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %413 = stablehlo.reduce(%412 init: %cst_91) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %414 = stablehlo.broadcast_in_dim %413, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %415 = stablehlo.add %409, %414 : tensor<4x8x16xf32>
    %416 = stablehlo.broadcast_in_dim %390, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_92 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %417 = stablehlo.pad %416, %cst_92, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %418 = sdy.sharding_constraint %415 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %419 = stablehlo.dot_general %418, %208, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %420 = stablehlo.transpose %419, dims = [1, 2, 0] : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %421 = stablehlo.dot_general %418, %143, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %422 = stablehlo.transpose %421, dims = [0, 2, 3, 1] : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %423 = stablehlo.dot_general %422, %186, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %424 = stablehlo.dot_general %422, %203, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %425 = stablehlo.transpose %424, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %426 = stablehlo.broadcast_in_dim %206, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %427 = stablehlo.multiply %423, %426 : tensor<4x4x8x8xf32>
    %428 = stablehlo.multiply %427, %199 : tensor<4x4x8x8xf32>
    %cst_93 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %429 = stablehlo.reduce(%428 init: %cst_93) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %430 = stablehlo.reshape %429 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %431 = stablehlo.negate %430 : tensor<4x4x8x1xf32>
    %432 = stablehlo.broadcast_in_dim %201, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %433 = stablehlo.divide %423, %432 : tensor<4x4x8x8xf32>
    %cst_94 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %434 = stablehlo.reduce(%431 init: %cst_94) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %435 = stablehlo.broadcast_in_dim %434, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %436 = stablehlo.add %433, %435 : tensor<4x4x8x8xf32>
    %437 = stablehlo.multiply %436, %199 : tensor<4x4x8x8xf32>
    %438 = call @_where_1(%192#1, %437) : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %cst_95 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %439 = stablehlo.broadcast_in_dim %cst_95, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %440 = stablehlo.multiply %438, %439 : tensor<4x4x8x8xf32>
    %441 = stablehlo.dot_general %440, %184, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %442 = stablehlo.transpose %441, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %443 = stablehlo.dot_general %440, %185, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %444 = stablehlo.transpose %443, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %445 = sdy.sharding_constraint %425 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %446 = sdy.sharding_constraint %442 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %447 = sdy.sharding_constraint %444 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %448 = stablehlo.broadcast_in_dim %445, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_96 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %449 = stablehlo.pad %448, %cst_96, low = [2, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %450 = stablehlo.broadcast_in_dim %446, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_97 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %451 = stablehlo.pad %450, %cst_97, low = [1, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %452 = stablehlo.add %449, %451 : tensor<3x4x8x4x4xf32>
    %453 = stablehlo.broadcast_in_dim %447, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_98 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %454 = stablehlo.pad %453, %cst_98, low = [0, 0, 0, 0, 0], high = [2, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %455 = stablehlo.add %452, %454 : tensor<3x4x8x4x4xf32>
    %456 = stablehlo.transpose %455, dims = [1, 2, 0, 3, 4] : (tensor<3x4x8x4x4xf32>) -> tensor<4x8x3x4x4xf32>
    %457 = stablehlo.dot_general %456, %175, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x3x4x4xf32>, tensor<4x8x16xf32>) -> tensor<3x4x4x16xf32>
    %458 = stablehlo.transpose %457, dims = [3, 0, 1, 2] : (tensor<3x4x4x16xf32>) -> tensor<16x3x4x4xf32>
    %459 = stablehlo.dot_general %456, %141, contracting_dims = [2, 3, 4] x [1, 2, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x3x4x4xf32>, tensor<16x3x4x4xf32>) -> tensor<4x8x16xf32>
    %460 = stablehlo.multiply %172, %459 : tensor<4x8x16xf32>
    %cst_99 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %461 = stablehlo.reduce(%460 init: %cst_99) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %462 = stablehlo.reshape %461 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %463 = stablehlo.broadcast_in_dim %173, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %464 = stablehlo.multiply %459, %463 : tensor<4x8x16xf32>
    %cst_100 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %465 = stablehlo.reduce(%462 init: %cst_100) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %466 = stablehlo.multiply %164, %464 : tensor<4x8x16xf32>
    %cst_101 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %467 = stablehlo.reduce(%466 init: %cst_101) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %468 = stablehlo.reshape %467 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %469 = stablehlo.broadcast_in_dim %167, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %470 = stablehlo.multiply %464, %469 : tensor<4x8x16xf32>
    %471 = stablehlo.multiply %468, %170 : tensor<4x8x1xf32>
    %472 = stablehlo.negate %470 : tensor<4x8x16xf32>
    %cst_102 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %473 = stablehlo.reduce(%472 init: %cst_102) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %474 = stablehlo.reshape %473 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %475 = stablehlo.add %418, %470 : tensor<4x8x16xf32>
    %cst_103 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %476 = stablehlo.broadcast_in_dim %cst_103, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %477 = stablehlo.divide %471, %476 : tensor<4x8x1xf32>
    %cst_104 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %478 = stablehlo.reduce(%477 init: %cst_104) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %479 = stablehlo.broadcast_in_dim %478, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %480 = stablehlo.multiply %479, %158 : tensor<4x8x16xf32>
    %481 = stablehlo.negate %480 : tensor<4x8x16xf32>
    %cst_105 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %482 = stablehlo.reduce(%481 init: %cst_105) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %483 = stablehlo.reshape %482 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %484 = stablehlo.add %475, %480 : tensor<4x8x16xf32>
    %485 = stablehlo.add %474, %483 : tensor<4x8x1xf32>
    %cst_106 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %486 = stablehlo.broadcast_in_dim %cst_106, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %487 = stablehlo.divide %485, %486 : tensor<4x8x1xf32>
    %cst_107 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %488 = stablehlo.reduce(%487 init: %cst_107) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %489 = stablehlo.broadcast_in_dim %488, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %490 = stablehlo.add %484, %489 : tensor<4x8x16xf32>
    %491 = stablehlo.broadcast_in_dim %465, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_108 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %492 = stablehlo.pad %491, %cst_108, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %493 = stablehlo.add %417, %492 : tensor<2x16xf32>
    %494 = stablehlo.broadcast_in_dim %365, dims = [1, 2] : (tensor<32x16xf32>) -> tensor<1x32x16xf32>
    %cst_109 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %495 = stablehlo.pad %494, %cst_109, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x32x16xf32>, tensor<f32>) -> tensor<2x32x16xf32>
    %496 = stablehlo.broadcast_in_dim %383, dims = [1, 2] : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %cst_110 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %497 = stablehlo.pad %496, %cst_110, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x16x32xf32>, tensor<f32>) -> tensor<2x16x32xf32>
    %498 = stablehlo.broadcast_in_dim %420, dims = [1, 2, 3] : (tensor<4x4x16xf32>) -> tensor<1x4x4x16xf32>
    %cst_111 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %499 = stablehlo.pad %498, %cst_111, low = [1, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x4x16xf32>, tensor<f32>) -> tensor<2x4x4x16xf32>
    %500 = stablehlo.broadcast_in_dim %458, dims = [1, 2, 3, 4] : (tensor<16x3x4x4xf32>) -> tensor<1x16x3x4x4xf32>
    %cst_112 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %501 = stablehlo.pad %500, %cst_112, low = [1, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x16x3x4x4xf32>, tensor<f32>) -> tensor<2x16x3x4x4xf32>
    %502 = stablehlo.broadcast_in_dim %493, dims = [1, 2] : (tensor<2x16xf32>) -> tensor<1x2x16xf32>
    %cst_113 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %503 = stablehlo.pad %502, %cst_113, low = [1, 0, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<1x2x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %504 = sdy.sharding_constraint %490 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %505 = stablehlo.dot_general %504, %134, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    %506 = stablehlo.transpose %505, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %507 = stablehlo.dot_general %504, %22, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<32x16xf32>) -> tensor<4x8x32xf32>
    %508 = sdy.sharding_constraint %507 <@mesh, [{"data"}, {}, {"model"}]> : tensor<4x8x32xf32>
    %509 = stablehlo.multiply %115, %508 : tensor<4x8x32xf32>
    %510 = stablehlo.multiply %508, %132 : tensor<4x8x32xf32>
    %cst_114 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %511 = stablehlo.broadcast_in_dim %cst_114, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %512 = stablehlo.multiply %511, %509 : tensor<4x8x32xf32>
    %513 = stablehlo.multiply %512, %128 : tensor<4x8x32xf32>
    %514 = stablehlo.multiply %513, %126 : tensor<4x8x32xf32>
    %515 = stablehlo.add %513, %514 : tensor<4x8x32xf32>
    %cst_115 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %516 = stablehlo.broadcast_in_dim %cst_115, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %517 = stablehlo.multiply %516, %515 : tensor<4x8x32xf32>
    %518 = stablehlo.add %510, %517 : tensor<4x8x32xf32>
    %cst_116 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %519 = stablehlo.broadcast_in_dim %cst_116, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %520 = stablehlo.multiply %519, %517 : tensor<4x8x32xf32>
    %521 = stablehlo.multiply %520, %120 : tensor<4x8x32xf32>
    %522 = stablehlo.add %518, %521 : tensor<4x8x32xf32>
    %523 = stablehlo.dot_general %522, %114, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %524 = stablehlo.transpose %523, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %525 = stablehlo.dot_general %522, %20, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %526 = stablehlo.multiply %111, %525 : tensor<4x8x16xf32>
    %cst_117 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %527 = stablehlo.reduce(%526 init: %cst_117) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %528 = stablehlo.reshape %527 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %529 = stablehlo.broadcast_in_dim %112, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %530 = stablehlo.multiply %525, %529 : tensor<4x8x16xf32>
    %cst_118 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %531 = stablehlo.reduce(%528 init: %cst_118) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %532 = stablehlo.multiply %103, %530 : tensor<4x8x16xf32>
    %cst_119 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %533 = stablehlo.reduce(%532 init: %cst_119) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %534 = stablehlo.reshape %533 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %535 = stablehlo.broadcast_in_dim %106, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %536 = stablehlo.multiply %530, %535 : tensor<4x8x16xf32>
    %537 = stablehlo.multiply %534, %109 : tensor<4x8x1xf32>
    %538 = stablehlo.negate %536 : tensor<4x8x16xf32>
    %cst_120 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %539 = stablehlo.reduce(%538 init: %cst_120) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %540 = stablehlo.reshape %539 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %541 = stablehlo.add %504, %536 : tensor<4x8x16xf32>
    %cst_121 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %542 = stablehlo.broadcast_in_dim %cst_121, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %543 = stablehlo.divide %537, %542 : tensor<4x8x1xf32>
    %cst_122 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %544 = stablehlo.reduce(%543 init: %cst_122) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %545 = stablehlo.broadcast_in_dim %544, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %546 = stablehlo.multiply %545, %97 : tensor<4x8x16xf32>
    %547 = stablehlo.negate %546 : tensor<4x8x16xf32>
    %cst_123 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %548 = stablehlo.reduce(%547 init: %cst_123) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %549 = stablehlo.reshape %548 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %550 = stablehlo.add %541, %546 : tensor<4x8x16xf32>
    %551 = stablehlo.add %540, %549 : tensor<4x8x1xf32>
    %cst_124 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %552 = stablehlo.broadcast_in_dim %cst_124, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %553 = stablehlo.divide %551, %552 : tensor<4x8x1xf32>
    %cst_125 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %554 = stablehlo.reduce(%553 init: %cst_125) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %555 = stablehlo.broadcast_in_dim %554, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %556 = stablehlo.add %550, %555 : tensor<4x8x16xf32>
    %557 = stablehlo.broadcast_in_dim %531, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_126 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %558 = stablehlo.pad %557, %cst_126, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %559 = sdy.sharding_constraint %556 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %560 = stablehlo.dot_general %559, %83, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x4x4xf32>) -> tensor<16x4x4xf32>
    %561 = stablehlo.transpose %560, dims = [1, 2, 0] : (tensor<16x4x4xf32>) -> tensor<4x4x16xf32>
    %562 = stablehlo.dot_general %559, %18, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x4x16xf32>) -> tensor<4x8x4x4xf32>
    %563 = stablehlo.transpose %562, dims = [0, 2, 3, 1] : (tensor<4x8x4x4xf32>) -> tensor<4x4x4x8xf32>
    %564 = stablehlo.dot_general %563, %61, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x8xf32>
    %565 = stablehlo.dot_general %563, %78, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x4x4x8xf32>, tensor<4x4x8x8xf32>) -> tensor<4x4x4x8xf32>
    %566 = stablehlo.transpose %565, dims = [0, 3, 1, 2] : (tensor<4x4x4x8xf32>) -> tensor<4x8x4x4xf32>
    %567 = stablehlo.broadcast_in_dim %81, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %568 = stablehlo.multiply %564, %567 : tensor<4x4x8x8xf32>
    %569 = stablehlo.multiply %568, %74 : tensor<4x4x8x8xf32>
    %cst_127 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %570 = stablehlo.reduce(%569 init: %cst_127) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x8xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %571 = stablehlo.reshape %570 : (tensor<4x4x8xf32>) -> tensor<4x4x8x1xf32>
    %572 = stablehlo.negate %571 : tensor<4x4x8x1xf32>
    %573 = stablehlo.broadcast_in_dim %76, dims = [0, 1, 2, 3] : (tensor<4x4x8x1xf32>) -> tensor<4x4x8x8xf32>
    %574 = stablehlo.divide %564, %573 : tensor<4x4x8x8xf32>
    %cst_128 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %575 = stablehlo.reduce(%572 init: %cst_128) applies stablehlo.add across dimensions = [3] : (tensor<4x4x8x1xf32>, tensor<f32>) -> tensor<4x4x8xf32>
    %576 = stablehlo.broadcast_in_dim %575, dims = [0, 1, 2] : (tensor<4x4x8xf32>) -> tensor<4x4x8x8xf32>
    %577 = stablehlo.add %574, %576 : tensor<4x4x8x8xf32>
    %578 = stablehlo.multiply %577, %74 : tensor<4x4x8x8xf32>
    %579 = call @_where_1(%67#1, %578) : (tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32>
    %cst_129 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %580 = stablehlo.broadcast_in_dim %cst_129, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %581 = stablehlo.multiply %579, %580 : tensor<4x4x8x8xf32>
    %582 = stablehlo.dot_general %581, %59, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %583 = stablehlo.transpose %582, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %584 = stablehlo.dot_general %581, %60, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x8xf32>, tensor<4x8x4x4xf32>) -> tensor<4x4x8x4xf32>
    %585 = stablehlo.transpose %584, dims = [0, 2, 1, 3] : (tensor<4x4x8x4xf32>) -> tensor<4x8x4x4xf32>
    %586 = sdy.sharding_constraint %566 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %587 = sdy.sharding_constraint %583 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %588 = sdy.sharding_constraint %585 <@mesh, [{"data"}, {}, {"model"}, {}]> : tensor<4x8x4x4xf32>
    %589 = stablehlo.broadcast_in_dim %586, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_130 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %590 = stablehlo.pad %589, %cst_130, low = [2, 0, 0, 0, 0], high = [0, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %591 = stablehlo.broadcast_in_dim %587, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_131 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %592 = stablehlo.pad %591, %cst_131, low = [1, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %593 = stablehlo.add %590, %592 : tensor<3x4x8x4x4xf32>
    %594 = stablehlo.broadcast_in_dim %588, dims = [1, 2, 3, 4] : (tensor<4x8x4x4xf32>) -> tensor<1x4x8x4x4xf32>
    %cst_132 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %595 = stablehlo.pad %594, %cst_132, low = [0, 0, 0, 0, 0], high = [2, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x4x8x4x4xf32>, tensor<f32>) -> tensor<3x4x8x4x4xf32>
    %596 = stablehlo.add %593, %595 : tensor<3x4x8x4x4xf32>
    %597 = stablehlo.transpose %596, dims = [1, 2, 0, 3, 4] : (tensor<3x4x8x4x4xf32>) -> tensor<4x8x3x4x4xf32>
    %598 = stablehlo.dot_general %597, %50, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x3x4x4xf32>, tensor<4x8x16xf32>) -> tensor<3x4x4x16xf32>
    %599 = stablehlo.transpose %598, dims = [3, 0, 1, 2] : (tensor<3x4x4x16xf32>) -> tensor<16x3x4x4xf32>
    %600 = stablehlo.dot_general %597, %16, contracting_dims = [2, 3, 4] x [1, 2, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x3x4x4xf32>, tensor<16x3x4x4xf32>) -> tensor<4x8x16xf32>
    %601 = stablehlo.multiply %47, %600 : tensor<4x8x16xf32>
    %cst_133 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %602 = stablehlo.reduce(%601 init: %cst_133) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<16xf32>
    %603 = stablehlo.reshape %602 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %604 = stablehlo.broadcast_in_dim %48, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<4x8x16xf32>
    %605 = stablehlo.multiply %600, %604 : tensor<4x8x16xf32>
    %cst_134 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %606 = stablehlo.reduce(%603 init: %cst_134) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %607 = stablehlo.multiply %39, %605 : tensor<4x8x16xf32>
    %cst_135 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %608 = stablehlo.reduce(%607 init: %cst_135) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %609 = stablehlo.reshape %608 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %610 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
    %611 = stablehlo.multiply %605, %610 : tensor<4x8x16xf32>
    %612 = stablehlo.multiply %609, %45 : tensor<4x8x1xf32>
    %613 = stablehlo.negate %611 : tensor<4x8x16xf32>
    %cst_136 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %614 = stablehlo.reduce(%613 init: %cst_136) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %615 = stablehlo.reshape %614 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %616 = stablehlo.add %559, %611 : tensor<4x8x16xf32>
    %cst_137 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %617 = stablehlo.broadcast_in_dim %cst_137, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %618 = stablehlo.divide %612, %617 : tensor<4x8x1xf32>
    %cst_138 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %619 = stablehlo.reduce(%618 init: %cst_138) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %620 = stablehlo.broadcast_in_dim %619, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %621 = stablehlo.multiply %620, %33 : tensor<4x8x16xf32>
    %622 = stablehlo.negate %621 : tensor<4x8x16xf32>
    %cst_139 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %623 = stablehlo.reduce(%622 init: %cst_139) applies stablehlo.add across dimensions = [2] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8xf32>
    %624 = stablehlo.reshape %623 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %625 = stablehlo.add %616, %621 : tensor<4x8x16xf32>
    %626 = stablehlo.add %615, %624 : tensor<4x8x1xf32>
    %cst_140 = stablehlo.constant dense<1.600000e+01> : tensor<f32>
    %627 = stablehlo.broadcast_in_dim %cst_140, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %628 = stablehlo.divide %626, %627 : tensor<4x8x1xf32>
    %cst_141 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %629 = stablehlo.reduce(%628 init: %cst_141) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %630 = stablehlo.broadcast_in_dim %629, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x16xf32>
    %631 = stablehlo.add %625, %630 : tensor<4x8x16xf32>
    %632 = stablehlo.broadcast_in_dim %606, dims = [1] : (tensor<16xf32>) -> tensor<1x16xf32>
    %cst_142 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %633 = stablehlo.pad %632, %cst_142, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<2x16xf32>
    %634 = stablehlo.add %558, %633 : tensor<2x16xf32>
    %635 = stablehlo.broadcast_in_dim %506, dims = [1, 2] : (tensor<32x16xf32>) -> tensor<1x32x16xf32>
    %cst_143 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %636 = stablehlo.pad %635, %cst_143, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x32x16xf32>, tensor<f32>) -> tensor<2x32x16xf32>
    %637 = stablehlo.add %495, %636 : tensor<2x32x16xf32>
    %638 = stablehlo.broadcast_in_dim %524, dims = [1, 2] : (tensor<16x32xf32>) -> tensor<1x16x32xf32>
    %cst_144 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %639 = stablehlo.pad %638, %cst_144, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x16x32xf32>, tensor<f32>) -> tensor<2x16x32xf32>
    %640 = stablehlo.add %497, %639 : tensor<2x16x32xf32>
    %641 = stablehlo.broadcast_in_dim %561, dims = [1, 2, 3] : (tensor<4x4x16xf32>) -> tensor<1x4x4x16xf32>
    %cst_145 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %642 = stablehlo.pad %641, %cst_145, low = [0, 0, 0, 0], high = [1, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x4x16xf32>, tensor<f32>) -> tensor<2x4x4x16xf32>
    %643 = stablehlo.add %499, %642 : tensor<2x4x4x16xf32>
    %644 = stablehlo.broadcast_in_dim %599, dims = [1, 2, 3, 4] : (tensor<16x3x4x4xf32>) -> tensor<1x16x3x4x4xf32>
    %cst_146 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %645 = stablehlo.pad %644, %cst_146, low = [0, 0, 0, 0, 0], high = [1, 0, 0, 0, 0], interior = [0, 0, 0, 0, 0] : (tensor<1x16x3x4x4xf32>, tensor<f32>) -> tensor<2x16x3x4x4xf32>
    %646 = stablehlo.add %501, %645 : tensor<2x16x3x4x4xf32>
    %647 = stablehlo.broadcast_in_dim %634, dims = [1, 2] : (tensor<2x16xf32>) -> tensor<1x2x16xf32>
    %cst_147 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %648 = stablehlo.pad %647, %cst_147, low = [0, 0, 0], high = [1, 0, 0], interior = [0, 0, 0] : (tensor<1x2x16xf32>, tensor<f32>) -> tensor<2x2x16xf32>
    %649 = stablehlo.add %503, %648 : tensor<2x2x16xf32>
    %650 = sdy.sharding_constraint %631 <@mesh, [{"data"}, {}, {}]> : tensor<4x8x16xf32>
    %cst_148 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %651 = stablehlo.reduce(%650 init: %cst_148) applies stablehlo.add across dimensions = [0] : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %652 = stablehlo.reshape %651 : (tensor<8x16xf32>) -> tensor<1x8x16xf32>
    %cst_149 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %653 = stablehlo.reduce(%652 init: %cst_149) applies stablehlo.add across dimensions = [0] : (tensor<1x8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
    %cst_150 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %654 = stablehlo.broadcast_in_dim %cst_150, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %655 = "stablehlo.scatter"(%654, %7, %650) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>):
      %681 = stablehlo.add %arg9, %arg10 : tensor<f32>
      stablehlo.return %681 : tensor<f32>
    }) : (tensor<32x16xf32>, tensor<4x8x1xi32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %656 = stablehlo.add %332, %655 : tensor<32x16xf32>
    %cst_151 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %657 = stablehlo.broadcast_in_dim %cst_151, dims = [] : (tensor<f32>) -> tensor<2x32x16xf32>
    %658 = stablehlo.multiply %657, %637 : tensor<2x32x16xf32>
    %659 = stablehlo.subtract %arg0, %658 : tensor<2x32x16xf32>
    %cst_152 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %660 = stablehlo.broadcast_in_dim %cst_152, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %661 = stablehlo.multiply %660, %656 : tensor<32x16xf32>
    %662 = stablehlo.subtract %arg1, %661 : tensor<32x16xf32>
    %cst_153 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %663 = stablehlo.broadcast_in_dim %cst_153, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %664 = stablehlo.multiply %663, %338 : tensor<16xf32>
    %665 = stablehlo.subtract %arg2, %664 : tensor<16xf32>
    %cst_154 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %666 = stablehlo.broadcast_in_dim %cst_154, dims = [] : (tensor<f32>) -> tensor<2x2x16xf32>
    %667 = stablehlo.multiply %666, %649 : tensor<2x2x16xf32>
    %668 = stablehlo.subtract %arg3, %667 : tensor<2x2x16xf32>
    %cst_155 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %669 = stablehlo.broadcast_in_dim %cst_155, dims = [] : (tensor<f32>) -> tensor<2x4x4x16xf32>
    %670 = stablehlo.multiply %669, %643 : tensor<2x4x4x16xf32>
    %671 = stablehlo.subtract %arg4, %670 : tensor<2x4x4x16xf32>
    %cst_156 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %672 = stablehlo.broadcast_in_dim %cst_156, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %673 = stablehlo.multiply %672, %653 : tensor<8x16xf32>
    %674 = stablehlo.subtract %arg5, %673 : tensor<8x16xf32>
    %cst_157 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %675 = stablehlo.broadcast_in_dim %cst_157, dims = [] : (tensor<f32>) -> tensor<2x16x3x4x4xf32>
    %676 = stablehlo.multiply %675, %646 : tensor<2x16x3x4x4xf32>
    %677 = stablehlo.subtract %arg6, %676 : tensor<2x16x3x4x4xf32>
    %cst_158 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %678 = stablehlo.broadcast_in_dim %cst_158, dims = [] : (tensor<f32>) -> tensor<2x16x32xf32>
    %679 = stablehlo.multiply %678, %640 : tensor<2x16x32xf32>
    %680 = stablehlo.subtract %arg7, %679 : tensor<2x16x32xf32>
    return %659, %662, %665, %668, %671, %674, %677, %680, %313 : tensor<2x32x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<2x2x16xf32>, tensor<2x4x4x16xf32>, tensor<8x16xf32>, tensor<2x16x3x4x4xf32>, tensor<2x16x32xf32>, tensor<f32>
  }
  func.func private @tril(%arg0: tensor<8x8xi1>) -> tensor<8x8xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<8x8xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xi1>
    return %6 : tensor<8x8xi1>
  }
  func.func private @_where(%arg0: tensor<8x8xi1>, %arg1: tensor<4x4x8x8xf32>, %arg2: tensor<f32>) -> (tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<8x8xi1>) -> tensor<4x4x8x8xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    return %3, %1 : tensor<4x4x8x8xf32>, tensor<4x4x8x8xi1>
  }
  func.func private @take_along_axis(%arg0: tensor<4x8x32xf32>, %arg1: tensor<4x8x1xi32>) -> (tensor<4x8x1xf32>, tensor<4x8x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<4x8x1xi32>, tensor<4x8x1xi32>) -> tensor<4x8x1xi1>
    %c_0 = stablehlo.constant dense<32> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<4x8x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<4x8x1xi1>, tensor<4x8x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<4x8x1xi32>) -> tensor<4x8x1x1xi32>
    %c_1 = stablehlo.constant dense<31> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x8x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<4x8x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<4x8x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<4x8x1x1xi1>, tensor<i1>) -> tensor<4x8x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<4x8x1xi1>, tensor<4x8x1xf32>
    return %15, %5 : tensor<4x8x1xf32>, tensor<4x8x1x1xi32>
  }
  func.func private @take_along_axis_0(%arg0: tensor<4x8x1x1xi32>, %arg1: tensor<4x8x1xf32>) -> tensor<4x8x32xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x8x32xf32>, tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
    return %1 : tensor<4x8x32xf32>
  }
  func.func private @_where_1(%arg0: tensor<4x4x8x8xi1>, %arg1: tensor<4x4x8x8xf32>) -> tensor<4x4x8x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x8x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<4x4x8x8xi1>, tensor<4x4x8x8xf32>
    return %1 : tensor<4x4x8x8xf32>
  }
}
