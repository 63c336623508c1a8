// RUN: shardc opt --passes compile --verify-each %s
// A function that a custom call names stays, but not what it says of shardings: whoever calls it has whole values, and the mesh
// is gone. A constraint is nothing then, nor is one of what it gives.
sdy.mesh @mesh = <["x"=2]>
func.func private @named(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}]> : tensor<4xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}]> : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @target(%a) {called_computations = [@named]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
