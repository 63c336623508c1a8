module @jit_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["fsdp"=8]> {stablehlo.mesh = {axes = [{name = "fsdp", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg1: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg2: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg3: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg4: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg5: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg6: tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}, %arg7: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg8: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg9: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg10: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg11: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg12: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg13: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg14: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg15: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, %arg16: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg17: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg18: tensor<64x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg19: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, %arg20: tensor<64xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}]>}) -> (tensor<64xf32> {jax.result_info = "result[0]['b1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<64xf32> {jax.result_info = "result[0]['b2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<10xf32> {jax.result_info = "result[0]['b3']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<32x64xf32> {jax.result_info = "result[0]['w1']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x64xf32> {jax.result_info = "result[0]['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x10xf32> {jax.result_info = "result[0]['w3']", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<i32> {jax.result_info = "result[1][0].count", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<64xf32> {jax.result_info = "result[1][0].mu['b1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<64xf32> {jax.result_info = "result[1][0].mu['b2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<10xf32> {jax.result_info = "result[1][0].mu['b3']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<32x64xf32> {jax.result_info = "result[1][0].mu['w1']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x64xf32> {jax.result_info = "result[1][0].mu['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x10xf32> {jax.result_info = "result[1][0].mu['w3']", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<64xf32> {jax.result_info = "result[1][0].nu['b1']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<64xf32> {jax.result_info = "result[1][0].nu['b2']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<10xf32> {jax.result_info = "result[1][0].nu['b3']", sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<32x64xf32> {jax.result_info = "result[1][0].nu['w1']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x64xf32> {jax.result_info = "result[1][0].nu['w2']", sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}, tensor<64x10xf32> {jax.result_info = "result[1][0].nu['w3']", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<f32> {jax.result_info = "result[2]", sdy.sharding = #sdy.sharding<@mesh, []>}, tensor<f32> {jax.result_info = "result[3]", sdy.sharding = #sdy.sharding<@mesh, []>}) {
    %0 = sdy.constant dense<-1.000000e-03> : tensor<f32>
    %1 = sdy.constant dense<9.99999993E-9> : tensor<f32>
    %2 = sdy.constant dense<1> : tensor<i32>
    %3 = sdy.constant dense<2147483647> : tensor<i32>
    %4 = sdy.constant dense<9.990000e-01> : tensor<f32>
    %5 = sdy.constant dense<1.000000e-03> : tensor<f32>
    %6 = sdy.constant dense<0.899999976> : tensor<f32>
    %7 = sdy.constant dense<1.000000e-01> : tensor<f32>
    %8 = sdy.constant dense<1.000000e+00> : tensor<f32>
    %9 = sdy.constant dense<0> : tensor<i32>
    %10 = sdy.constant dense<6.400000e+01> : tensor<f32>
    %11 = sdy.constant dense<0xFF800000> : tensor<f32>
    %12 = sdy.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.dot_general %arg19, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %14 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<1x64xf32>) -> tensor<64x64xf32>
    %16 = stablehlo.add %13, %15 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %17 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %18 = stablehlo.maximum %16, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %19 = stablehlo.compare GT, %16, %17, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
    %20 = stablehlo.dot_general %18, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %21 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<1x64xf32>) -> tensor<64x64xf32>
    %23 = stablehlo.add %20, %22 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %24 = stablehlo.maximum %23, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %25 = stablehlo.compare GT, %23, %17, FLOAT {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xi1>
    %26 = stablehlo.dot_general %24, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>, tensor<64x10xf32>) -> tensor<64x10xf32>
    %27 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<10xf32>) -> tensor<1x10xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<1x10xf32>) -> tensor<64x10xf32>
    %29 = stablehlo.add %26, %28 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %30 = stablehlo.broadcast_in_dim %arg20, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xi32>) -> tensor<64x1xi32>
    %31 = stablehlo.iota dim = 1 : tensor<1x10xi32>
    %32 = stablehlo.broadcast_in_dim %30, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x1xi32>) -> tensor<64x10xi32>
    %33 = stablehlo.broadcast_in_dim %31, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<1x10xi32>) -> tensor<64x10xi32>
    %34 = stablehlo.compare EQ, %32, %33, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x10xi32>, tensor<64x10xi32>) -> tensor<64x10xi1>
    %35 = stablehlo.convert %34 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x10xi1>) -> tensor<64x10xf32>
    %36 = stablehlo.reduce(%29 init: %11) applies stablehlo.maximum across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %37 = stablehlo.broadcast_in_dim %11, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<f32>) -> tensor<64xf32>
    %38 = stablehlo.maximum %37, %36 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : tensor<64xf32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xf32>) -> tensor<64x1xf32>
    %40 = stablehlo.broadcast_in_dim %39, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %41 = stablehlo.subtract %29, %40 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %42 = stablehlo.exponential %41 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %43 = stablehlo.reduce(%42 init: %12) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xf32>) -> tensor<64x1xf32>
    %45 = stablehlo.log %44 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x1xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x1xf32>) -> tensor<64x10xf32>
    %47 = stablehlo.subtract %41, %46 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %48 = stablehlo.multiply %35, %47 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %49 = stablehlo.reduce(%48 init: %12) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %50 = stablehlo.negate %49 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : tensor<64xf32>
    %51 = stablehlo.reduce(%50 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %52 = stablehlo.divide %51, %10 : tensor<f32>
    %53 = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xi32>
    %54:2 = stablehlo.reduce(%29 init: %11), (%53 init: %9) across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>, <@mesh, [{"fsdp"}]>]>} : (tensor<64x10xf32>, tensor<64x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
     reducer(%arg21: tensor<f32>, %arg23: tensor<f32>) (%arg22: tensor<i32>, %arg24: tensor<i32>)  {
      %235 = stablehlo.compare GT, %arg21, %arg23, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %236 = stablehlo.compare NE, %arg21, %arg21, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %237 = stablehlo.or %235, %236 : tensor<i1>
      %238 = stablehlo.compare EQ, %arg21, %arg23, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %239 = stablehlo.compare LT, %arg22, %arg24, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %240 = stablehlo.and %238, %239 : tensor<i1>
      %241 = stablehlo.or %237, %240 : tensor<i1>
      %242 = stablehlo.select %237, %arg21, %arg23 : tensor<i1>, tensor<f32>
      %243 = stablehlo.select %241, %arg22, %arg24 : tensor<i1>, tensor<i32>
      stablehlo.return %242, %243 : tensor<f32>, tensor<i32>
    }
    %55 = stablehlo.compare EQ, %54#1, %arg20, SIGNED {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64xi32>, tensor<64xi32>) -> tensor<64xi1>
    %56 = stablehlo.convert %55 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64xi1>) -> tensor<64xi32>
    %57 = stablehlo.convert %56 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64xi32>) -> tensor<64xf32>
    %58 = stablehlo.reduce(%57 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %59 = stablehlo.divide %58, %10 : tensor<f32>
    %60 = stablehlo.divide %8, %10 : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<f32>) -> tensor<64xf32>
    %62 = stablehlo.negate %61 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : tensor<64xf32>
    %63 = stablehlo.broadcast_in_dim %62, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xf32>) -> tensor<64x10xf32>
    %64 = stablehlo.multiply %35, %63 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %65 = stablehlo.negate %64 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %66 = stablehlo.reduce(%65 init: %12) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
    %67 = stablehlo.reshape %66 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xf32>) -> tensor<64x1xf32>
    %68 = stablehlo.divide %67, %44 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x1xf32>
    %69 = stablehlo.reduce(%68 init: %12) applies stablehlo.add across dimensions = [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}]>]>} : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64xf32>) -> tensor<64x10xf32>
    %71 = stablehlo.multiply %70, %42 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %72 = stablehlo.add %64, %71 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x10xf32>
    %73 = stablehlo.reduce(%72 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<64x10xf32>, tensor<f32>) -> tensor<10xf32>
    %74 = stablehlo.reshape %73 : (tensor<10xf32>) -> tensor<1x10xf32>
    %75 = stablehlo.reduce(%74 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<1x10xf32>, tensor<f32>) -> tensor<10xf32>
    %76 = stablehlo.dot_general %72, %24, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x10xf32>, tensor<64x64xf32>) -> tensor<10x64xf32>
    %77 = stablehlo.transpose %76, dims = [1, 0] : (tensor<10x64xf32>) -> tensor<64x10xf32>
    %78 = stablehlo.dot_general %72, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x10xf32>, tensor<64x10xf32>) -> tensor<64x64xf32>
    %79 = stablehlo.select %25, %78, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xi1>, tensor<64x64xf32>
    %80 = stablehlo.reduce(%79 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %81 = stablehlo.reshape %80 : (tensor<64xf32>) -> tensor<1x64xf32>
    %82 = stablehlo.reduce(%81 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %83 = stablehlo.dot_general %79, %18, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"fsdp"}]>]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %84 = stablehlo.transpose %83, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %85 = stablehlo.dot_general %79, %arg4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %86 = stablehlo.select %19, %85, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xi1>, tensor<64x64xf32>
    %87 = stablehlo.reduce(%86 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
    %88 = stablehlo.reshape %87 : (tensor<64xf32>) -> tensor<1x64xf32>
    %89 = stablehlo.reduce(%88 init: %12) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %90 = stablehlo.dot_general %86, %arg19, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"fsdp"}]>]>} : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    %91 = stablehlo.transpose %90, dims = [1, 0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %92 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %93 = stablehlo.multiply %92, %89 : tensor<64xf32>
    %94 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %95 = stablehlo.multiply %94, %arg7 : tensor<64xf32>
    %96 = stablehlo.add %93, %95 : tensor<64xf32>
    %97 = stablehlo.multiply %92, %82 : tensor<64xf32>
    %98 = stablehlo.multiply %94, %arg8 : tensor<64xf32>
    %99 = stablehlo.add %97, %98 : tensor<64xf32>
    %100 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %101 = stablehlo.multiply %100, %75 : tensor<10xf32>
    %102 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %103 = stablehlo.multiply %102, %arg9 : tensor<10xf32>
    %104 = stablehlo.add %101, %103 : tensor<10xf32>
    %105 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %106 = stablehlo.multiply %105, %91 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %107 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %108 = stablehlo.multiply %107, %arg10 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %109 = stablehlo.add %106, %108 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %110 = stablehlo.broadcast_in_dim %7, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %111 = stablehlo.multiply %110, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %112 = stablehlo.broadcast_in_dim %6, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %113 = stablehlo.multiply %112, %arg11 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %114 = stablehlo.add %111, %113 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %115 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %116 = stablehlo.multiply %115, %77 : tensor<64x10xf32>
    %117 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %118 = stablehlo.multiply %117, %arg12 : tensor<64x10xf32>
    %119 = stablehlo.add %116, %118 : tensor<64x10xf32>
    %120 = stablehlo.multiply %89, %89 : tensor<64xf32>
    %121 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %122 = stablehlo.multiply %121, %120 : tensor<64xf32>
    %123 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %124 = stablehlo.multiply %123, %arg13 : tensor<64xf32>
    %125 = stablehlo.add %122, %124 : tensor<64xf32>
    %126 = stablehlo.multiply %82, %82 : tensor<64xf32>
    %127 = stablehlo.multiply %121, %126 : tensor<64xf32>
    %128 = stablehlo.multiply %123, %arg14 : tensor<64xf32>
    %129 = stablehlo.add %127, %128 : tensor<64xf32>
    %130 = stablehlo.multiply %75, %75 : tensor<10xf32>
    %131 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %132 = stablehlo.multiply %131, %130 : tensor<10xf32>
    %133 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %134 = stablehlo.multiply %133, %arg15 : tensor<10xf32>
    %135 = stablehlo.add %132, %134 : tensor<10xf32>
    %136 = stablehlo.multiply %91, %91 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %137 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %138 = stablehlo.multiply %137, %136 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %139 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %140 = stablehlo.multiply %139, %arg16 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %141 = stablehlo.add %138, %140 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %142 = stablehlo.multiply %84, %84 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %143 = stablehlo.broadcast_in_dim %5, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %144 = stablehlo.multiply %143, %142 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %145 = stablehlo.broadcast_in_dim %4, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %146 = stablehlo.multiply %145, %arg17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %147 = stablehlo.add %144, %146 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %148 = stablehlo.multiply %77, %77 : tensor<64x10xf32>
    %149 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %150 = stablehlo.multiply %149, %148 : tensor<64x10xf32>
    %151 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %152 = stablehlo.multiply %151, %arg18 : tensor<64x10xf32>
    %153 = stablehlo.add %150, %152 : tensor<64x10xf32>
    %154 = stablehlo.compare LT, %arg6, %3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %155 = stablehlo.add %arg6, %2 : tensor<i32>
    %156 = stablehlo.select %154, %155, %3 : tensor<i1>, tensor<i32>
    %157 = stablehlo.convert %156 : (tensor<i32>) -> tensor<f32>
    %158 = stablehlo.power %6, %157 : tensor<f32>
    %159 = stablehlo.subtract %8, %158 : tensor<f32>
    %160 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %161 = stablehlo.divide %96, %160 : tensor<64xf32>
    %162 = stablehlo.divide %99, %160 : tensor<64xf32>
    %163 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %164 = stablehlo.divide %104, %163 : tensor<10xf32>
    %165 = stablehlo.broadcast_in_dim %159, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %166 = stablehlo.divide %109, %165 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %167 = stablehlo.broadcast_in_dim %159, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %168 = stablehlo.divide %114, %167 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %169 = stablehlo.broadcast_in_dim %159, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %170 = stablehlo.divide %119, %169 : tensor<64x10xf32>
    %171 = stablehlo.convert %156 : (tensor<i32>) -> tensor<f32>
    %172 = stablehlo.power %4, %171 : tensor<f32>
    %173 = stablehlo.subtract %8, %172 : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %173, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %175 = stablehlo.divide %125, %174 : tensor<64xf32>
    %176 = stablehlo.divide %129, %174 : tensor<64xf32>
    %177 = stablehlo.broadcast_in_dim %173, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %178 = stablehlo.divide %135, %177 : tensor<10xf32>
    %179 = stablehlo.broadcast_in_dim %173, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %180 = stablehlo.divide %141, %179 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %181 = stablehlo.broadcast_in_dim %173, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %182 = stablehlo.divide %147, %181 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %183 = stablehlo.broadcast_in_dim %173, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %184 = stablehlo.divide %153, %183 : tensor<64x10xf32>
    %185 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %186 = stablehlo.add %175, %185 : tensor<64xf32>
    %187 = stablehlo.sqrt %186 : tensor<64xf32>
    %188 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %189 = stablehlo.add %187, %188 : tensor<64xf32>
    %190 = stablehlo.divide %161, %189 : tensor<64xf32>
    %191 = stablehlo.add %176, %185 : tensor<64xf32>
    %192 = stablehlo.sqrt %191 : tensor<64xf32>
    %193 = stablehlo.add %192, %188 : tensor<64xf32>
    %194 = stablehlo.divide %162, %193 : tensor<64xf32>
    %195 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %196 = stablehlo.add %178, %195 : tensor<10xf32>
    %197 = stablehlo.sqrt %196 : tensor<10xf32>
    %198 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %199 = stablehlo.add %197, %198 : tensor<10xf32>
    %200 = stablehlo.divide %164, %199 : tensor<10xf32>
    %201 = stablehlo.broadcast_in_dim %12, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %202 = stablehlo.add %180, %201 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %203 = stablehlo.sqrt %202 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %204 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %205 = stablehlo.add %203, %204 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %206 = stablehlo.divide %166, %205 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %207 = stablehlo.add %182, %17 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %208 = stablehlo.sqrt %207 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %209 = stablehlo.broadcast_in_dim %1, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %210 = stablehlo.add %208, %209 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %211 = stablehlo.divide %168, %210 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %212 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %213 = stablehlo.add %184, %212 : tensor<64x10xf32>
    %214 = stablehlo.sqrt %213 : tensor<64x10xf32>
    %215 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %216 = stablehlo.add %214, %215 : tensor<64x10xf32>
    %217 = stablehlo.divide %170, %216 : tensor<64x10xf32>
    %218 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %219 = stablehlo.multiply %218, %190 : tensor<64xf32>
    %220 = stablehlo.multiply %218, %194 : tensor<64xf32>
    %221 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<10xf32>
    %222 = stablehlo.multiply %221, %200 : tensor<10xf32>
    %223 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<32x64xf32>
    %224 = stablehlo.multiply %223, %206 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %225 = stablehlo.broadcast_in_dim %0, dims = [] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : (tensor<f32>) -> tensor<64x64xf32>
    %226 = stablehlo.multiply %225, %211 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %227 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<64x10xf32>
    %228 = stablehlo.multiply %227, %217 : tensor<64x10xf32>
    %229 = stablehlo.add %arg0, %219 : tensor<64xf32>
    %230 = stablehlo.add %arg1, %220 : tensor<64xf32>
    %231 = stablehlo.add %arg2, %222 : tensor<10xf32>
    %232 = stablehlo.add %arg3, %224 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<32x64xf32>
    %233 = stablehlo.add %arg4, %226 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"fsdp"}, {}]>]>} : tensor<64x64xf32>
    %234 = stablehlo.add %arg5, %228 : tensor<64x10xf32>
    return %229, %230, %231, %232, %233, %234, %156, %96, %99, %104, %109, %114, %119, %125, %129, %135, %141, %147, %153, %52, %59 : tensor<64xf32>, tensor<64xf32>, tensor<10xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64x10xf32>, tensor<i32>, tensor<64xf32>, tensor<64xf32>, tensor<10xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64x10xf32>, tensor<64xf32>, tensor<64xf32>, tensor<10xf32>, tensor<32x64xf32>, tensor<64x64xf32>, tensor<64x10xf32>, tensor<f32>, tensor<f32>
  }
}
