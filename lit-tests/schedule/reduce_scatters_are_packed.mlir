// RUN: shardc check %s
// RUN: shardc check --seed 1 %s
// RUN: shardc explain --tries 0 %s
// RUN: shardc compile %s
// RUN: shardc compile --emit manual %s
// A reduce_scatter takes one operand: two products scattered along different dimensions go as rows of one. For XLA, which joins
// them without copies where that pays, each stays what it is.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x16xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<16x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x12xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x16xi32>, tensor<16x12xi32>) -> tensor<8x12xi32>
  %1 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<8x16xi32>, tensor<8x16xi32>) -> tensor<8x8xi32>
  return %0, %1 : tensor<8x12xi32>, tensor<8x8xi32>
}
