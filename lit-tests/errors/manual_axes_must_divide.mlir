// RUN: not shardc opt %s
// Shardings may cut unevenly, manual axes may not.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%local: tensor<3xf32>) {
    sdy.return %local : tensor<3xf32>
  } : (tensor<10xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
