// RUN: not shardc compile %s
// RUN: not shardc opt --passes propagate %s
// Shardings don't cross branches: what @main calls may not have any.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = func.call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1
^bb1:
  return %a : tensor<8xf32>
}
