// RUN: shardc compile --deny replicate --emit sdy %s
// What a constraint or a result asks for is gathered without a word, and so are weights before a product.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %b: tensor<4096x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}, tensor<4096x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}]> : tensor<64xcomplex<f32>>
  %1 = stablehlo.fft %0, type = FFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
  %2 = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<4096x16xf32>, tensor<16x16xf32>) -> tensor<4096x16xf32>
  %3 = stablehlo.negate %a : tensor<64xcomplex<f32>>
  return %1, %2, %3 : tensor<64xcomplex<f32>>, tensor<4096x16xf32>, tensor<64xcomplex<f32>>
}
