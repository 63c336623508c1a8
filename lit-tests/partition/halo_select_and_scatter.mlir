// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// The gradient of a max pooling of overlapping windows, as JAX writes it for a processor: devices send each other one row
// of the operand, and one of the windows and of what they selected.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %s: tensor<32x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %inf = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %inf, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<64x2048xf32>, tensor<f32>) -> tensor<65x2048xf32>
  %1 = "stablehlo.select_and_scatter"(%0, %s, %zero) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %3 = stablehlo.compare GE, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }, {
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %3 = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<65x2048xf32>, tensor<32x2048xf32>, tensor<f32>) -> tensor<65x2048xf32>
  %2 = stablehlo.slice %1 [0:64, 0:2048] : (tensor<65x2048xf32>) -> tensor<64x2048xf32>
  return %2 : tensor<64x2048xf32>
}
