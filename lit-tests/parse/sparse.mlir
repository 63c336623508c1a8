// RUN: shardc opt %s
// RUN: shardc check %s
// RUN: shardc opt --generic %s | shardc compile -
// Sparse elements are the dense ones that they mean: what stands at the places, and zeros.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>, tensor<2x3xi32>, tensor<2xcomplex<f32>>) {
  %0 = stablehlo.constant sparse<[[0, 1], [3, 0]], [1.5, -2.0]> : tensor<4x2xf32>
  %1 = arith.constant sparse<[[0, 0], [1, 2]], 5> : tensor<2x3xi32>
  %2 = "stablehlo.constant"() <{value = sparse<[[1]], [(1.0, 2.0)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
  %3 = arith.constant sparse<0, true> : tensor<2x2xi1>
  %4 = arith.constant sparse<> : tensor<3xbf16>
  %5 = stablehlo.add %a, %0 : tensor<4x2xf32>
  return %5, %1, %2 : tensor<4x2xf32>, tensor<2x3xi32>, tensor<2xcomplex<f32>>
}
