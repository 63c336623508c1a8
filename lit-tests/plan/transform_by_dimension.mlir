// RUN: shardc opt --passes import,propagate,plan %s
// A transform over two dimensions there and back: the one that is sharded is exchanged twice, and nothing is gathered.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.fft %a, type = RFFT, length = [256, 512] : (tensor<256x512xf32>) -> tensor<256x257xcomplex<f32>>
  %1 = stablehlo.multiply %0, %0 : tensor<256x257xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IRFFT, length = [256, 512] : (tensor<256x257xcomplex<f32>>) -> tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}
