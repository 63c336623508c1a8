// RUN: shardc cost %s
// The gradient of a pool reads rows on both sides of two values: between two neighbors, and for both values, they go
// together. The plan knows that and leaves small images where they are, instead of sharding them by batches.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%image: tensor<8x96x96x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) -> (tensor<8x96x96x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {"y"}, {}]>}) {
  %one = stablehlo.constant dense<1.0> : tensor<8x96x96x16xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %padded = stablehlo.pad %image, %least, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<8x96x96x16xf32>, tensor<f32>) -> tensor<8x98x98x16xf32>
  %selected = "stablehlo.select_and_scatter"(%padded, %one, %zero) <{padding = dense<0> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 1, 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8x98x98x16xf32>, tensor<8x96x96x16xf32>, tensor<f32>) -> tensor<8x98x98x16xf32>
  %inside = stablehlo.slice %selected [0:8, 1:97, 1:97, 0:16] : (tensor<8x98x98x16xf32>) -> tensor<8x96x96x16xf32>
  return %inside : tensor<8x96x96x16xf32>
}
