// RUN: shardc explain %s
// RUN: shardc explain --tries 0 %s
// A sum over an axis, from annotations two ops away.
sdy.mesh @mesh = <["model"=4]>
func.func @main(%x: tensor<8x16xf32>, %wi: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %wo: tensor<64x16xf32>) -> (tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %wi, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %1 = stablehlo.tanh %0 : tensor<8x64xf32>
  %2 = stablehlo.dot_general %1, %wo, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
