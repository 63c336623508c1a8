// RUN: shardc opt --passes propagate %s
// What an op hands on is combined operand by operand, right after each comes to be: the last argument first.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], unreduced={"y"}>}, %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}], unreduced={"y"}>}) -> tensor<3xf32> {
  %0:2 = stablehlo.optimization_barrier %a, %b : tensor<3xf32>, tensor<4xf32>
  return %0#0 : tensor<3xf32>
}
