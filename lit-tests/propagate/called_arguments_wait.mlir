// RUN: shardc opt --passes propagate %s
// What a later reader gives to an argument of a call comes in a round later: the body goes by the call's result.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = call @f(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.dot_general %0, %a, contracting_dims = [1] x [1] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {"y", ?}]>]>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
func.func private @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = stablehlo.negate %a : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
