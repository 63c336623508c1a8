// RUN: shardc check %s
// RUN: shardc compile %s
// A sum that all devices keep goes with one that is scattered: it stands in the row of every device.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<16x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<i32> {sdy.sharding = #sdy.sharding<@mesh, []>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xi32>, tensor<16x12xi32>) -> tensor<8x12xi32>
  %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xi32>, tensor<i32>) -> tensor<i32>
  return %0, %1 : tensor<8x12xi32>, tensor<i32>
}
