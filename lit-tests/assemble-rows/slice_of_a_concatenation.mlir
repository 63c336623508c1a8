// RUN: shardc opt --passes sharded,assemble-rows %s
// A slice of a concatenation that has the rows of one operand alone is that operand.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %row: tensor<1x64xf32>)
    -> (tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %row, dim = 0 : (tensor<65536x64xf32>, tensor<1x64xf32>) -> tensor<65537x64xf32>
  %1 = stablehlo.slice %0 [0:65536, 0:64] : (tensor<65537x64xf32>) -> tensor<65536x64xf32>
  return %1 : tensor<65536x64xf32>
}
