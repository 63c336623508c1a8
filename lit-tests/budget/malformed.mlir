// RUN: not shardc compile %s
// A budget that can't be read is an error too, not a comment that checks nothing.
// shardc: expect all_gathers <= 4, bytes 1 GiB
// shardc: expect peak <= 1 parsec, all_reduce <= many,
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
