// RUN: shardc compile --warn replicate %s
// RUN: not shardc compile --deny replicate %s
// RUN: not shardc check --deny replicate %s
// RUN: not shardc explain --deny replicate %s
// RUN: shardc compile --emit sdy %s
// A transform of one dimension reads all of it. Nothing is said of so few bytes unless it is asked for.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.fft %a, type = FFT, length = [64] : (tensor<64xcomplex<f32>>) -> tensor<64xcomplex<f32>>
  return %0 : tensor<64xcomplex<f32>>
}
