// RUN: shardc check %s
// RUN: shardc compile --emit sdy %s
// Propagation spreads an axis over what 4 and 6 have in common and what they have not; a device can compute its piece of neither.
sdy.mesh @mesh = <["x"=4, "y"=6]>
func.func @main(%a: tensor<4x3x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<6x2xf32> {
  %v6 = "stablehlo.reshape"(%a)   : (tensor<4x3x1xf32>) -> tensor<6x2xf32>
  return %v6 : tensor<6x2xf32>
}
