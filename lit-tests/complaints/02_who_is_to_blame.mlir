// RUN: not shardc compile --deny replicate %s
// Asked for: the op, its line and the sharding behind data that every device receives, instead of a line of a log (openxla/xla#15402).
sdy.mesh @mesh = <["data"=4]>
func.func @main(%a: tensor<16x64xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>} loc("signal")) -> tensor<16x64xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [64] : (tensor<16x64xcomplex<f32>>) -> tensor<16x64xcomplex<f32>> loc(#fft)
  return %0 : tensor<16x64xcomplex<f32>>
}
#line = loc("spectrum"("model.py":21:9))
#fft = loc("jit(step)/fft"(#line))
