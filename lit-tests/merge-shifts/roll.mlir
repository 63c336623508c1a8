// RUN: shardc opt --passes import,propagate,merge-shifts %s
// A concatenation of two slices of one tensor is a select between two shifts of it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [63:64] : (tensor<64xf32>) -> tensor<1xf32>
  %1 = stablehlo.slice %a [0:63] : (tensor<64xf32>) -> tensor<63xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<63xf32>) -> tensor<64xf32>
  return %2 : tensor<64xf32>
}
