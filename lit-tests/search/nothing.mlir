// RUN: not shardc search %s
// RUN: not shardc search --target v5e:2x2 %s
// RUN: not shardc search --mesh a=2,a=2 %s
// RUN: not shardc search --budget soon %s
// RUN: not shardc search --mesh a=2 --devices 2 %s
// Nothing is multiplied: there is nothing to decide about.
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = stablehlo.tanh %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
