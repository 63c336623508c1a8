// RUN: shardc compile %s
// RUN: shardc compile --emit sdy %s
// Ops that only their authors know are computed in shards of everything that their rules say: partial results combine as
// stated, by a sum or a maximum. What needs its neighbors along a dimension is computed in shards of the other.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(
    %a: tensor<8x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (
    tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0 = "acme.total"(%a) {shardc.reduction = "sum", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=65536} reduction={j}, custom>} : (tensor<8x65536xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @largest(%a) {shardc.reduction = "max", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=65536} reduction={j}, custom>} : (tensor<8x65536xf32>) -> tensor<8xf32>
  %2 = "acme.tilt"(%b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} permutation={j}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8x4xf32>
}
