// RUN: not shardc compile --deny replicate %s
// RUN: shardc compile --emit sdy %s
// Nobody knows how the parts of the first would combine, so its operand is gathered along "y", but not along "x". That of
// the second doesn't divide, and only its author knows what padding would do to it.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (
    tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = "acme.total"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=4} reduction={j}, custom>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %1 = "acme.total"(%b) {shardc.reduction = "sum", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=5} reduction={j}, custom>} : (tensor<8x5xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
