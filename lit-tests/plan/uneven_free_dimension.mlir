// RUN: shardc check --interpret %s
// RUN: shardc compile --emit stablehlo %s
// Eleven rows on four devices: each multiplies three rows, and nobody sees the row past the end.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<11x512xi32>, %b: tensor<512x64xi32>) -> tensor<11x64xi32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<11x512xi32>, tensor<512x64xi32>) -> tensor<11x64xi32>
  %1 = stablehlo.abs %0 : tensor<11x64xi32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<11x64xi32>
  return %2 : tensor<11x64xi32>
}
