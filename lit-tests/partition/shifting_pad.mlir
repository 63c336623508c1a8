// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// A pad that takes from one end what it gives to the other keeps the size, but shifts: its pieces are not its operand's.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %one, low = [-1, 0], high = [1, 0], interior = [0, 0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
