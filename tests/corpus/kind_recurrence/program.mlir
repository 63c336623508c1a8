module @jit_recurrence attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %arg1: tensor<32x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<32x4xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.slice %arg0 [0:31:2, 0:4] : (tensor<32x4xf32>) -> tensor<16x4xf32>
    %1 = stablehlo.slice %arg1 [0:31:2, 0:4] : (tensor<32x4xf32>) -> tensor<16x4xf32>
    %2 = stablehlo.slice %arg0 [1:32:2, 0:4] : (tensor<32x4xf32>) -> tensor<16x4xf32>
    %3 = stablehlo.slice %arg1 [1:32:2, 0:4] : (tensor<32x4xf32>) -> tensor<16x4xf32>
    %4 = stablehlo.multiply %0, %2 : tensor<16x4xf32>
    %5 = stablehlo.multiply %2, %1 : tensor<16x4xf32>
    %6 = stablehlo.add %5, %3 : tensor<16x4xf32>
    %7 = stablehlo.slice %4 [0:15:2, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %8 = stablehlo.slice %6 [0:15:2, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %9 = stablehlo.slice %4 [1:16:2, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %10 = stablehlo.slice %6 [1:16:2, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>
    %11 = stablehlo.multiply %7, %9 : tensor<8x4xf32>
    %12 = stablehlo.multiply %9, %8 : tensor<8x4xf32>
    %13 = stablehlo.add %12, %10 : tensor<8x4xf32>
    %14 = stablehlo.slice %11 [0:7:2, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %15 = stablehlo.slice %13 [0:7:2, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %16 = stablehlo.slice %11 [1:8:2, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %17 = stablehlo.slice %13 [1:8:2, 0:4] : (tensor<8x4xf32>) -> tensor<4x4xf32>
    %18 = stablehlo.multiply %14, %16 : tensor<4x4xf32>
    %19 = stablehlo.multiply %16, %15 : tensor<4x4xf32>
    %20 = stablehlo.add %19, %17 : tensor<4x4xf32>
    %21 = stablehlo.slice %18 [0:3:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %22 = stablehlo.slice %20 [0:3:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %23 = stablehlo.slice %18 [1:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %24 = stablehlo.slice %20 [1:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<2x4xf32>
    %25 = stablehlo.multiply %21, %23 : tensor<2x4xf32>
    %26 = stablehlo.multiply %23, %22 : tensor<2x4xf32>
    %27 = stablehlo.add %26, %24 : tensor<2x4xf32>
    %28 = stablehlo.slice %27 [0:1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %29 = stablehlo.slice %25 [1:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %30 = stablehlo.slice %27 [1:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %31 = stablehlo.multiply %29, %28 : tensor<1x4xf32>
    %32 = stablehlo.add %31, %30 : tensor<1x4xf32>
    %33 = stablehlo.slice %32 [0:0, 0:4] : (tensor<1x4xf32>) -> tensor<0x4xf32>
    %34 = stablehlo.slice %25 [2:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<0x4xf32>
    %35 = stablehlo.slice %27 [2:2:2, 0:4] : (tensor<2x4xf32>) -> tensor<0x4xf32>
    %36 = stablehlo.multiply %34, %33 : tensor<0x4xf32>
    %37 = stablehlo.add %36, %35 : tensor<0x4xf32>
    %38 = stablehlo.slice %27 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %39 = stablehlo.concatenate %38, %37, dim = 0 : (tensor<1x4xf32>, tensor<0x4xf32>) -> tensor<1x4xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %40 = stablehlo.pad %39, %cst, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.pad %32, %cst_0, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<1x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %42 = stablehlo.add %40, %41 : tensor<2x4xf32>
    %43 = stablehlo.slice %42 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %44 = stablehlo.slice %18 [2:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %45 = stablehlo.slice %20 [2:4:2, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %46 = stablehlo.multiply %44, %43 : tensor<1x4xf32>
    %47 = stablehlo.add %46, %45 : tensor<1x4xf32>
    %48 = stablehlo.slice %20 [0:1, 0:4] : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %49 = stablehlo.concatenate %48, %47, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %50 = stablehlo.pad %49, %cst_1, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %51 = stablehlo.pad %42, %cst_2, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<2x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %52 = stablehlo.add %50, %51 : tensor<4x4xf32>
    %53 = stablehlo.slice %52 [0:3, 0:4] : (tensor<4x4xf32>) -> tensor<3x4xf32>
    %54 = stablehlo.slice %11 [2:8:2, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %55 = stablehlo.slice %13 [2:8:2, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>
    %56 = stablehlo.multiply %54, %53 : tensor<3x4xf32>
    %57 = stablehlo.add %56, %55 : tensor<3x4xf32>
    %58 = stablehlo.slice %13 [0:1, 0:4] : (tensor<8x4xf32>) -> tensor<1x4xf32>
    %59 = stablehlo.concatenate %58, %57, dim = 0 : (tensor<1x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %60 = stablehlo.pad %59, %cst_3, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %61 = stablehlo.pad %52, %cst_4, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %62 = stablehlo.add %60, %61 : tensor<8x4xf32>
    %63 = stablehlo.slice %62 [0:7, 0:4] : (tensor<8x4xf32>) -> tensor<7x4xf32>
    %64 = stablehlo.slice %4 [2:16:2, 0:4] : (tensor<16x4xf32>) -> tensor<7x4xf32>
    %65 = stablehlo.slice %6 [2:16:2, 0:4] : (tensor<16x4xf32>) -> tensor<7x4xf32>
    %66 = stablehlo.multiply %64, %63 : tensor<7x4xf32>
    %67 = stablehlo.add %66, %65 : tensor<7x4xf32>
    %68 = stablehlo.slice %6 [0:1, 0:4] : (tensor<16x4xf32>) -> tensor<1x4xf32>
    %69 = stablehlo.concatenate %68, %67, dim = 0 : (tensor<1x4xf32>, tensor<7x4xf32>) -> tensor<8x4xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %70 = stablehlo.pad %69, %cst_5, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<16x4xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %71 = stablehlo.pad %62, %cst_6, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<16x4xf32>
    %72 = stablehlo.add %70, %71 : tensor<16x4xf32>
    %73 = stablehlo.slice %72 [0:15, 0:4] : (tensor<16x4xf32>) -> tensor<15x4xf32>
    %74 = stablehlo.slice %arg0 [2:32:2, 0:4] : (tensor<32x4xf32>) -> tensor<15x4xf32>
    %75 = stablehlo.slice %arg1 [2:32:2, 0:4] : (tensor<32x4xf32>) -> tensor<15x4xf32>
    %76 = stablehlo.multiply %74, %73 : tensor<15x4xf32>
    %77 = stablehlo.add %76, %75 : tensor<15x4xf32>
    %78 = stablehlo.slice %arg1 [0:1, 0:4] : (tensor<32x4xf32>) -> tensor<1x4xf32>
    %79 = stablehlo.concatenate %78, %77, dim = 0 : (tensor<1x4xf32>, tensor<15x4xf32>) -> tensor<16x4xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %80 = stablehlo.pad %79, %cst_7, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<32x4xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %81 = stablehlo.pad %72, %cst_8, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<32x4xf32>
    %82 = stablehlo.add %80, %81 : tensor<32x4xf32>
    return %82 : tensor<32x4xf32>
  }
}
