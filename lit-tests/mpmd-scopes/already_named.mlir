// RUN: shardc opt --passes mpmd-scopes{assign=f@m0} %s
// A name of a computation that is there already isn't looked for.
func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> attributes {topology = #mpmd.topology<<"m0": <["x"=2]>>>} {
  %0 = mpmd.named_computation<"f"> (%x) (%y: tensor<4xi32>) {
    %2 = stablehlo.add %y, %y : tensor<4xi32>
    mpmd.return %2 : tensor<4xi32>
  } : (tensor<4xi32>) -> tensor<4xi32>
  %1 = stablehlo.negate %0 : tensor<4xi32> loc("jit(step)/f/neg")
  return %1 : tensor<4xi32>
}
