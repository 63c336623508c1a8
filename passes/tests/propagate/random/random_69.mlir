module {
  sdy.mesh @mesh = <["x"=2, "y"=2, "z"=8]>
  func.func public @main(%arg0: tensor<16x12x16xf32>, %arg1: tensor<16x12x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p2, {"y"}, {?}p0]>}, %arg2: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "z", "y", ?}]>}, %arg3: tensor<i32>) -> (tensor<16x16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}p2, {"y", ?}, {"x", "z", ?}p3]>}, tensor<3x2xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg2 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.reverse %arg2, dims = [0] : tensor<3xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.add %2, %2 : tensor<3xf32>
    %4 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [1] : (tensor<16x12x16xf32>, tensor<16x12x16xf32>) -> tensor<16x16x16x16xf32>
    %5 = stablehlo.reshape %4 : (tensor<16x16x16x16xf32>) -> tensor<2x1x4x8192xf32>
    %6 = stablehlo.sine %3 : tensor<3xf32>
    %7 = stablehlo.transpose %4, dims = [2, 1, 3, 0] : (tensor<16x16x16x16xf32>) -> tensor<16x16x16x16xf32>
    %8 = call @f0(%arg1) : (tensor<16x12x16xf32>) -> tensor<8x6x8xf32>
    %9 = stablehlo.concatenate %5, %5, %5, dim = 0 : (tensor<2x1x4x8192xf32>, tensor<2x1x4x8192xf32>, tensor<2x1x4x8192xf32>) -> tensor<6x1x4x8192xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x16x16x16xf32>
    %11 = stablehlo.add %10, %10 : tensor<16x16x16x16xf32>
    %12 = sdy.sharding_constraint %4 <@mesh, [{"y", "z", "x", ?}p2, {?}, {?}p1, {?}p1]> : tensor<16x16x16x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %13 = "stablehlo.case"(%c) ({
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %15 = stablehlo.reduce(%4 init: %cst_2) applies stablehlo.add across dimensions = [1, 2] : (tensor<16x16x16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
      %16 = stablehlo.transpose %8, dims = [1, 2, 0] : (tensor<8x6x8xf32>) -> tensor<6x8x8xf32>
      stablehlo.return %11 : tensor<16x16x16x16xf32>
    }, {
      %15 = stablehlo.reshape %5 : (tensor<2x1x4x8192xf32>) -> tensor<65536xf32>
      %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %16 = stablehlo.reduce(%4 init: %cst_2) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<16x16x16x16xf32>, tensor<f32>) -> tensor<f32>
      %17 = stablehlo.multiply %15, %15 : tensor<65536xf32>
      stablehlo.return %11 : tensor<16x16x16x16xf32>
    }) : (tensor<i32>) -> tensor<16x16x16x16xf32>
    %14 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<3xf32>) -> tensor<3x2xf32>
    return %12, %14 : tensor<16x16x16x16xf32>, tensor<3x2xf32>
  }
  func.func private @f0(%arg0: tensor<16x12x16xf32>) -> tensor<8x6x8xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %c, %c_0, %c_1, sizes = [8, 6, 8] : (tensor<16x12x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<8x6x8xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1, 2] : (tensor<8x6x8xf32>) -> tensor<8x6x8x4xf32>
    %2 = stablehlo.tanh %0 : tensor<8x6x8xf32>
    %3 = stablehlo.add %1, %1 : tensor<8x6x8x4xf32>
    return %0 : tensor<8x6x8xf32>
  }
}

// expected
// 0 <@mesh, [{}, {"y"}, {}]>
// 1 <@mesh, [{}]>
// 2 <@mesh, [{}, {}, {"y"}, {"x", "z"}]>
// 3 <@mesh, [{"y", "z", "x"}, {}, {}, {}]>
//
// func main
//   arg 0 0
//   arg 1 0
//   arg 2 1
//   arg 3 -
//   result 0 2
//   result 1 -
//   stablehlo.broadcast_in_dim -
//   stablehlo.dot_general 3
//   func.call @f0 -
//   sdy.reshard 3
//   stablehlo.broadcast_in_dim -
//   func.return
// func f0
//   arg 0 0
//   result 0 -
//   stablehlo.dynamic_slice -
//   func.return
