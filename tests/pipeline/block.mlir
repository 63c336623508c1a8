// A transformer block and its transposed derivative, as jax.jit(f).lower(…) prints them: six weights, 4 sequences of 8 positions.
  func.func private @block(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16x32xf32>, %arg5: tensor<32x16xf32>, %arg6: tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>) {
    %0 = stablehlo.dot_general %arg6, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %2 = stablehlo.dot_general %arg6, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %4 = stablehlo.dot_general %arg6, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %5 = stablehlo.reshape %4 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %6 = stablehlo.dot_general %1, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %7 = stablehlo.sqrt %cst : tensor<f32>
    %8 = stablehlo.convert %7 : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<4x2x8x8xf32>
    %10 = stablehlo.divide %6, %9 : tensor<4x2x8x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %12 = call @block_tril(%11) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %14 = stablehlo.compare GT, %12, %13, FLOAT : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+09> : tensor<f32>
    %15 = call @block__where(%14, %cst_2, %cst_3) : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
    %16 = stablehlo.convert %15 : tensor<8x8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<1x1x8x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xf32>) -> tensor<4x2x8x8xf32>
    %19 = stablehlo.subtract %10, %18 : tensor<4x2x8x8xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<4x2x8x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %22 = stablehlo.maximum %21, %20 : tensor<4x2x8xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<4x2x8x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %25 = stablehlo.subtract %19, %24 : tensor<4x2x8x8xf32>
    %26 = stablehlo.exponential %25 : tensor<4x2x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<4x2x8x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<4x2x8x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %30 = stablehlo.divide %26, %29 : tensor<4x2x8x8xf32>
    %31 = stablehlo.dot_general %5, %30, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x8xf32>, tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
    %32 = stablehlo.transpose %31, dims = [0, 3, 1, 2] : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
    %33 = stablehlo.reshape %32 : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
    %34 = stablehlo.dot_general %33, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %35 = stablehlo.add %arg6, %34 : tensor<4x8x16xf32>
    %36 = stablehlo.dot_general %35, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %37 = stablehlo.tanh %36 : tensor<4x8x32xf32>
    %38 = stablehlo.dot_general %37, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<32x16xf32>) -> tensor<4x8x16xf32>
    %39 = stablehlo.add %35, %38 : tensor<4x8x16xf32>
    return %39 : tensor<4x8x16xf32>
  }
  func.func private @block_tril(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xf32>
    return %6 : tensor<8x8xf32>
  }
  func.func private @block__where(%arg0: tensor<8x8xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<8x8xi1>, tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
  func.func private @block_back(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<16x16xf32>, %arg4: tensor<16x32xf32>, %arg5: tensor<32x16xf32>, %arg6: tensor<4x8x16xf32>, %arg7: tensor<4x8x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<4x8x16xf32>) {
    %0 = stablehlo.dot_general %arg6, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %1 = stablehlo.reshape %0 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %2 = stablehlo.dot_general %arg6, %arg1, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %3 = stablehlo.reshape %2 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %4 = stablehlo.dot_general %arg6, %arg2, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %5 = stablehlo.reshape %4 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %6 = stablehlo.dot_general %1, %3, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %cst = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %7 = stablehlo.sqrt %cst : tensor<f32>
    %8 = stablehlo.convert %7 : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<4x2x8x8xf32>
    %10 = stablehlo.divide %6, %9 : tensor<4x2x8x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %12 = call @block_back_tril(%11) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %14 = stablehlo.compare GT, %12, %13, FLOAT : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_3 = stablehlo.constant dense<1.000000e+09> : tensor<f32>
    %15 = call @block_back__where(%14, %cst_2, %cst_3) : (tensor<8x8xi1>, tensor<f32>, tensor<f32>) -> tensor<8x8xf32>
    %16 = stablehlo.convert %15 : tensor<8x8xf32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<1x1x8x8xf32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2, 3] : (tensor<1x1x8x8xf32>) -> tensor<4x2x8x8xf32>
    %19 = stablehlo.subtract %10, %18 : tensor<4x2x8x8xf32>
    %cst_4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_4) applies stablehlo.maximum across dimensions = [3] : (tensor<4x2x8x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x2x8xf32>
    %22 = stablehlo.maximum %21, %20 : tensor<4x2x8xf32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<4x2x8x1xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %25 = stablehlo.subtract %19, %24 : tensor<4x2x8x8xf32>
    %26 = stablehlo.exponential %25 : tensor<4x2x8x8xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %27 = stablehlo.reduce(%26 init: %cst_6) applies stablehlo.add across dimensions = [3] : (tensor<4x2x8x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<4x2x8x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %30 = stablehlo.divide %26, %29 : tensor<4x2x8x8xf32>
    %31 = stablehlo.multiply %28, %28 : tensor<4x2x8x1xf32>
    %cst_7 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %32 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x2x8x1xf32>
    %33 = stablehlo.divide %32, %31 : tensor<4x2x8x1xf32>
    %34 = stablehlo.dot_general %5, %30, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x8x2x8xf32>, tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
    %35 = stablehlo.transpose %34, dims = [0, 3, 1, 2] : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
    %36 = stablehlo.reshape %35 : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
    %37 = stablehlo.dot_general %36, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %38 = stablehlo.add %arg6, %37 : tensor<4x8x16xf32>
    %39 = stablehlo.dot_general %38, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x32xf32>) -> tensor<4x8x32xf32>
    %40 = stablehlo.tanh %39 : tensor<4x8x32xf32>
    %cst_8 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x8x32xf32>
    %42 = stablehlo.subtract %41, %40 : tensor<4x8x32xf32>
    %43 = stablehlo.dot_general %arg7, %40, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x32xf32>) -> tensor<16x32xf32>
    %44 = stablehlo.transpose %43, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
    %45 = stablehlo.dot_general %arg7, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<32x16xf32>) -> tensor<4x8x32xf32>
    %46 = stablehlo.multiply %45, %42 : tensor<4x8x32xf32>
    %47 = stablehlo.multiply %46, %40 : tensor<4x8x32xf32>
    %48 = stablehlo.add %46, %47 : tensor<4x8x32xf32>
    %49 = stablehlo.dot_general %48, %38, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<4x8x16xf32>) -> tensor<32x16xf32>
    %50 = stablehlo.transpose %49, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
    %51 = stablehlo.dot_general %48, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x32xf32>, tensor<16x32xf32>) -> tensor<4x8x16xf32>
    %52 = stablehlo.add %arg7, %51 : tensor<4x8x16xf32>
    %53 = stablehlo.dot_general %52, %36, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    %54 = stablehlo.transpose %53, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %55 = stablehlo.dot_general %52, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %56 = stablehlo.reshape %55 : (tensor<4x8x16xf32>) -> tensor<4x8x2x8xf32>
    %57 = stablehlo.transpose %56, dims = [0, 2, 3, 1] : (tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %58 = stablehlo.dot_general %57, %5, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %59 = stablehlo.dot_general %57, %30, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x8xf32>, tensor<4x2x8x8xf32>) -> tensor<4x2x8x8xf32>
    %60 = stablehlo.transpose %59, dims = [0, 3, 1, 2] : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
    %61 = stablehlo.broadcast_in_dim %33, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %62 = stablehlo.multiply %58, %61 : tensor<4x2x8x8xf32>
    %63 = stablehlo.multiply %62, %26 : tensor<4x2x8x8xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = stablehlo.reduce(%63 init: %cst_9) applies stablehlo.add across dimensions = [3] : (tensor<4x2x8x8xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %65 = stablehlo.reshape %64 : (tensor<4x2x8xf32>) -> tensor<4x2x8x1xf32>
    %66 = stablehlo.negate %65 : tensor<4x2x8x1xf32>
    %67 = stablehlo.broadcast_in_dim %28, dims = [0, 1, 2, 3] : (tensor<4x2x8x1xf32>) -> tensor<4x2x8x8xf32>
    %68 = stablehlo.divide %58, %67 : tensor<4x2x8x8xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %69 = stablehlo.reduce(%66 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<4x2x8x1xf32>, tensor<f32>) -> tensor<4x2x8xf32>
    %70 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2] : (tensor<4x2x8xf32>) -> tensor<4x2x8x8xf32>
    %71 = stablehlo.add %68, %70 : tensor<4x2x8x8xf32>
    %72 = stablehlo.multiply %71, %26 : tensor<4x2x8x8xf32>
    %73 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<4x2x8x8xf32>
    %74 = stablehlo.divide %72, %73 : tensor<4x2x8x8xf32>
    %75 = stablehlo.dot_general %74, %1, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %76 = stablehlo.transpose %75, dims = [0, 2, 1, 3] : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
    %77 = stablehlo.dot_general %74, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x2x8x8xf32>, tensor<4x8x2x8xf32>) -> tensor<4x2x8x8xf32>
    %78 = stablehlo.transpose %77, dims = [0, 2, 1, 3] : (tensor<4x2x8x8xf32>) -> tensor<4x8x2x8xf32>
    %79 = stablehlo.reshape %60 : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
    %80 = stablehlo.dot_general %79, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    %81 = stablehlo.transpose %80, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %82 = stablehlo.dot_general %79, %arg2, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %83 = stablehlo.add %52, %82 : tensor<4x8x16xf32>
    %84 = stablehlo.reshape %76 : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
    %85 = stablehlo.dot_general %84, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    %86 = stablehlo.transpose %85, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %87 = stablehlo.dot_general %84, %arg1, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %88 = stablehlo.add %83, %87 : tensor<4x8x16xf32>
    %89 = stablehlo.reshape %78 : (tensor<4x8x2x8xf32>) -> tensor<4x8x16xf32>
    %90 = stablehlo.dot_general %89, %arg6, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<16x16xf32>
    %91 = stablehlo.transpose %90, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %92 = stablehlo.dot_general %89, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x16xf32>, tensor<16x16xf32>) -> tensor<4x8x16xf32>
    %93 = stablehlo.add %88, %92 : tensor<4x8x16xf32>
    return %91, %86, %81, %54, %50, %44, %93 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x32xf32>, tensor<32x16xf32>, tensor<4x8x16xf32>
  }
  func.func private @block_back_tril(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
    %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x8xi32>
    %2 = stablehlo.add %0, %1 : tensor<8x8xi32>
    %3 = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<8x8xi1>, tensor<8x8xf32>
    return %6 : tensor<8x8xf32>
  }
  func.func private @block_back__where(%arg0: tensor<8x8xi1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<8x8xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %2 = stablehlo.select %arg0, %0, %1 : tensor<8x8xi1>, tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
