// RUN: shardc compile --warn replicate --emit sdy %s
// The gather stands before ops that change neither what is needed nor why: a conversion to a wider type, a transpose,
// a reshape. What is also read by others was gathered for them, too.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %c: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<64x16xf64>, tensor<64x16xf64>, tensor<64x16xf64>, tensor<64x16xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.convert %a : (tensor<16x64xf32>) -> tensor<16x64xf64>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<16x64xf64>) -> tensor<64x16xf64>
  %2 = stablehlo.custom_call @of_all(%1) : (tensor<64x16xf64>) -> tensor<64x16xf64>
  %3 = stablehlo.convert %b : (tensor<8x8x16xf32>) -> tensor<8x8x16xf64>
  %4 = stablehlo.reshape %3 : (tensor<8x8x16xf64>) -> tensor<64x16xf64>
  %5 = stablehlo.custom_call @of_all(%4) : (tensor<64x16xf64>) -> tensor<64x16xf64>
  %6 = stablehlo.convert %c : (tensor<16x64xf32>) -> tensor<16x64xf64>
  %7 = stablehlo.transpose %6, dims = [1, 0] : (tensor<16x64xf64>) -> tensor<64x16xf64>
  %8 = stablehlo.custom_call @of_all(%7) : (tensor<64x16xf64>) -> tensor<64x16xf64>
  return %2, %5, %8, %7 : tensor<64x16xf64>, tensor<64x16xf64>, tensor<64x16xf64>, tensor<64x16xf64>
}
