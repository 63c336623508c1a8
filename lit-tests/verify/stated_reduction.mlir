// RUN: not shardc opt %s
// How partial results combine is one of three words, on an op with a rule of its own that reduces.
func.func @main(%a: tensor<8x4xf32>) -> tensor<8xf32> {
  %0 = "acme.total"(%a) {shardc.reduction = "mul", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=4} reduction={j}, custom>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %1 = "acme.total"(%a) {shardc.reduction = "sum"} : (tensor<8x4xf32>) -> tensor<8xf32>
  %2 = "acme.keep"(%a) {shardc.reduction = "sum", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8xf32>
  %3 = stablehlo.negate %a {shardc.reduction = "sum", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=4, k=4} reduction={j}, custom>} : tensor<8x4xf32>
  return %0 : tensor<8xf32>
}
