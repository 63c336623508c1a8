// RUN: not shardc opt --split-input-file %s
// Blocks that aren't there, are there twice, don't end, or get other values than they take.
func.func private @missing() {
  cf.br ^nowhere
}
// -----
func.func private @twice() {
  cf.br ^bb1
^bb1:
  cf.br ^bb2
^bb1:
  return
}
// -----
func.func private @endless(%a: tensor<8xf32>) {
  cf.br ^bb1
^bb1:
  %0 = stablehlo.negate %a : tensor<8xf32>
}
// -----
func.func private @other_types(%a: tensor<8xf32>) {
  cf.br ^bb1(%a : tensor<8xf32>)
^bb1(%b: tensor<4xf32>):
  return
}
