// RUN: shardc opt --passes import,propagate,assemble-rows %s
// The rows of a reversed concatenation come from its operands: one op sends each of them once.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<131072x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<65536x64xf32>, tensor<65536x64xf32>) -> tensor<131072x64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<131072x64xf32>
  return %1 : tensor<131072x64xf32>
}
