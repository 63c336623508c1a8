// RUN: shardc opt --passes propagate %s
// Nothing is combined after an op that the user ruled but what its reader wants whole: along "y", not along "z".
sdy.mesh @mesh = <["y"=2, "z"=4]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"z"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @ruled(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i]) {i=8, j=4} reduction={j}, custom>, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}], unreduced={"y"}>]>} : (tensor<8x4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
