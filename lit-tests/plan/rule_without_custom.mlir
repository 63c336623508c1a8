// RUN: shardc compile %s
// RUN: shardc opt --import --propagate %s
// A rule of an op that only its author knows is followed whether or not it says 'custom': there is no other. On an op that is
// known it is left from somebody's propagation, and goes.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
    %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<4x6xf32>) -> tensor<8x6xf32> {
  %0 = "acme.matmul"(%a, %b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=6, k=4} reduction={k}>, shardc.reduction = "sum"} : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.negate %0 {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=6}>} : tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}
