module @jit_fft2 attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=8]> {stablehlo.mesh = {axes = [{name = "x", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = call @fft(%arg0) : (tensor<16x8xf32>) -> tensor<16x8xcomplex<f32>>
    %cst = stablehlo.constant dense<(2.000000e+00,0.000000e+00)> : tensor<complex<f32>>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<complex<f32>>) -> tensor<16x8xcomplex<f32>>
    %2 = stablehlo.multiply %0, %1 : tensor<16x8xcomplex<f32>>
    %3 = call @fft_0(%2) : (tensor<16x8xcomplex<f32>>) -> tensor<16x8xcomplex<f32>>
    %4 = stablehlo.real %3 : (tensor<16x8xcomplex<f32>>) -> tensor<16x8xf32>
    return %4 : tensor<16x8xf32>
  }
  func.func private @fft(%arg0: tensor<16x8xf32>) -> tensor<16x8xcomplex<f32>> {
    %0 = stablehlo.convert %arg0 : (tensor<16x8xf32>) -> tensor<16x8xcomplex<f32>>
    %1 = stablehlo.fft %0, type = FFT, length = [16, 8] : (tensor<16x8xcomplex<f32>>) -> tensor<16x8xcomplex<f32>>
    return %1 : tensor<16x8xcomplex<f32>>
  }
  func.func private @fft_0(%arg0: tensor<16x8xcomplex<f32>>) -> tensor<16x8xcomplex<f32>> {
    %0 = stablehlo.fft %arg0, type = IFFT, length = [16, 8] : (tensor<16x8xcomplex<f32>>) -> tensor<16x8xcomplex<f32>>
    return %0 : tensor<16x8xcomplex<f32>>
  }
}
