// RUN: shardc opt --passes propagate %s
// One value goes to two arguments: what the second gives to it the first sees a round later, when its reader has
// heard of the result.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %0:2 = sdy.manual_computation(%a, %a) in_shardings=[<@mesh, [{?}, {?}], replicated={"y"}>, <@mesh, [{"x"}, {?}], replicated={"y"}>] out_shardings=[<@mesh, [{?}, {"y", "x", ?}]>, <@mesh, [{?}, {?}], replicated={"y"}>] manual_axes={"y"} (%b: tensor<4x4xf32>, %c: tensor<4x4xf32>) {
    %1 = stablehlo.negate %b : tensor<4x4xf32>
    sdy.return %1, %c : tensor<4x4xf32>, tensor<4x4xf32>
  } : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>)
  return %0#0 : tensor<4x8xf32>
}
