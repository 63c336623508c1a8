// RUN: shardc compile --emit manual %s
// A zero has no place among powers of two and becomes NaN (0xFF); XLA would make it 2^-127 if the conversion were left to it.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf8E8M0FNU> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<6x4xf8E8M0FNU> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.convert %zero : (tensor<i32>) -> tensor<f8E8M0FNU>
  %1 = stablehlo.pad %a, %0, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<4x4xf8E8M0FNU>, tensor<f8E8M0FNU>) -> tensor<6x4xf8E8M0FNU>
  return %1 : tensor<6x4xf8E8M0FNU>
}
