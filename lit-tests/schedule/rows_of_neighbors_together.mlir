// RUN: shardc check --interpret %s
// RUN: shardc run --interpret %s
// RUN: shardc compile %s
// Two tensors of different elements are read one row before and one row behind: each neighbor gets one message from
// each side.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<128x512xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<128x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.pad %a, %zero, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<128x512xf32>, tensor<f32>) -> tensor<128x512xf32>
  %1 = stablehlo.pad %a, %zero, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<128x512xf32>, tensor<f32>) -> tensor<128x512xf32>
  %2 = stablehlo.pad %b, %one, low = [1, 0], high = [-1, 0], interior = [0, 0] : (tensor<128x512xi32>, tensor<i32>) -> tensor<128x512xi32>
  %3 = stablehlo.pad %b, %one, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<128x512xi32>, tensor<i32>) -> tensor<128x512xi32>
  %4 = stablehlo.add %2, %3 : tensor<128x512xi32>
  %5 = stablehlo.convert %4 : (tensor<128x512xi32>) -> tensor<128x512xf32>
  %6 = stablehlo.add %0, %1 : tensor<128x512xf32>
  %7 = stablehlo.multiply %5, %6 : tensor<128x512xf32>
  return %7 : tensor<128x512xf32>
}
