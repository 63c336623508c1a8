module {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%arg0: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}, {?}]>}, %arg1: tensor<4xf32>, %arg2: tensor<16x4xf32>, %arg3: tensor<16x4xf32>, %arg4: tensor<i32>) -> tensor<16x16xf32> {
    %0 = sdy.sharding_constraint %arg2 <@mesh, [{}, {}], replicated={"x"}> : tensor<16x4xf32>
    %1 = stablehlo.reverse %arg1, dims = [0] : tensor<4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
    %3 = stablehlo.dot_general %arg2, %0, batching_dims = [1] x [1], contracting_dims = [0] x [0] : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4xf32>
    %4 = stablehlo.reshape %3 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}, {?}, {?}]>]>} : (tensor<4xf32>) -> tensor<2x2x1x1xf32>
    %5 = stablehlo.concatenate %arg3, %arg2, dim = 1 : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
    %6 = stablehlo.dot_general %0, %arg0, contracting_dims = [1] x [1] : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x16xf32>
    %7:2 = stablehlo.optimization_barrier %5, %6 : tensor<16x8xf32>, tensor<16x16xf32>
    return %6 : tensor<16x16xf32>
  }
}

// expected
// 0 <@mesh, [{"x"}, {}]>
// 1 <@mesh, [{}, {}]>
// 2 <@mesh, [{}, {"x"}]>
//
// func main
//   arg 0 0
//   arg 1 -
//   arg 2 1
//   arg 3 -
//   arg 4 -
//   result 0 2
//   sdy.reshard 1
//   stablehlo.dot_general 2
//   func.return
