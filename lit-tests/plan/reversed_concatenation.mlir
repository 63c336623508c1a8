// RUN: shardc compile --emit sdy %s
// What a reversed concatenation shows is followed back to its operands: their rows are sent once, both together. What a
// slice shows of a concatenation is a part of an operand, or of both.
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %row: tensor<1x64xf32>)
    -> (tensor<131072x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<65536x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<65536x64xf32>, tensor<65536x64xf32>) -> tensor<131072x64xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<131072x64xf32>
  %2 = stablehlo.concatenate %a, %row, dim = 0 : (tensor<65536x64xf32>, tensor<1x64xf32>) -> tensor<65537x64xf32>
  %3 = stablehlo.slice %2 [1:65537, 0:64] : (tensor<65537x64xf32>) -> tensor<65536x64xf32>
  %4 = stablehlo.slice %2 [0:65536, 0:64] : (tensor<65537x64xf32>) -> tensor<65536x64xf32>
  %5 = stablehlo.subtract %3, %4 : tensor<65536x64xf32>
  return %1, %5 : tensor<131072x64xf32>, tensor<65536x64xf32>
}
