// RUN: shardc opt --passes import %s
// RUN: shardc check %s
// A named computation stands in place; the shardings it states become constraints.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = sdy.named_computation<"block">(%a) in_shardings=[<@mesh, [{"x"}, {}]>] (%b: tensor<8x4xf32>) {
    %1 = stablehlo.tanh %b : tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
