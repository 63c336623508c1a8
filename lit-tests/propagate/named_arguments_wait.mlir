// RUN: shardc opt --passes propagate %s
// Arguments of a named computation hear of the values given to them once a round, too.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0:2 = sdy.named_computation<"f">(%a, %a) in_shardings=[<@mesh, [{?}, {?}]>, <@mesh, [{"x"}, {?}]>] out_shardings=[<@mesh, [{?}, {"x", ?}]>, <@mesh, [{?}, {?}]>] (%b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
    %1 = stablehlo.negate %b : tensor<4x4xf32>
    sdy.return %1, %c : tensor<4x4xf32>, tensor<4x4xf32>
  } : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<4x4xf32>
}
