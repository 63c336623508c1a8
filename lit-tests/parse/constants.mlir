// RUN: shardc opt %s
// Constants as lists, splats, raw bytes and special floats print in one canonical form.
func.func @main() -> tensor<2x2xi32> {
  %c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %hex = stablehlo.constant dense<"0x01000000020000000300000004000000"> : tensor<2x2xi32>
  %splat = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %bool = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %complex = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  %none = stablehlo.constant dense<> : tensor<0x4xf32>
  return %c : tensor<2x2xi32>
}
