// RUN: shardc cost %s
// RUN: shardc check --interpret %s
// Asked for: transforms over dimensions that aren't sharded need no data of others (jax-ml/jax#15680, openxla/xla#24).
sdy.mesh @mesh = <["data"=8]>
func.func @main(%a: tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<8x16xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.fft %a, type = FFT, length = [16] : (tensor<8x16xcomplex<f32>>) -> tensor<8x16xcomplex<f32>>
  return %0 : tensor<8x16xcomplex<f32>>
}
