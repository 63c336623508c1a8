// RUN: not shardc run --interpret %s
// There are no arrays of quantized elements to give.
func.func @main(%a: tensor<2x!quant.uniform<i8:f32, 0.5:-20>>) -> tensor<2x!quant.uniform<i8:f32, 0.5:-20>> {
  return %a : tensor<2x!quant.uniform<i8:f32, 0.5:-20>>
}
