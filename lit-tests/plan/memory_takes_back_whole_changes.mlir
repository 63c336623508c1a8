// RUN: shardc compile --emit sdy --memory 840 %s
// What was changed together is taken back together to fit: a part of it may be dearer than the greedy plan.
sdy.mesh @mesh = <["x"=6]>
func.func @main(%a: tensor<16x3xf32>) -> tensor<16x2x2xf32> {
  %0 = stablehlo.rsqrt %a : tensor<16x3xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %1 = "stablehlo.reduce_window"(%0, %one) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 1], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x3xf32>, tensor<f32>) -> tensor<16x2xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 2] : (tensor<16x2xf32>) -> tensor<16x2x2xf32>
  %3 = stablehlo.add %2, %2 : tensor<16x2x2xf32>
  %4 = stablehlo.convert %3 : (tensor<16x2x2xf32>) -> tensor<16x2x2xi32>
  %5 = stablehlo.convert %2 : (tensor<16x2x2xf32>) -> tensor<16x2x2xi32>
  %6 = stablehlo.and %4, %5 : tensor<16x2x2xi32>
  %7 = stablehlo.convert %6 : (tensor<16x2x2xi32>) -> tensor<16x2x2xf32>
  %8 = sdy.sharding_constraint %2 <@mesh, [{?}, {"x"}, {}]> : tensor<16x2x2xf32>
  return %7 : tensor<16x2x2xf32>
}
