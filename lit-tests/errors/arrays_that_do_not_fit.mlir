// RUN: not shardc run --interpret --inputs errors/arrays.npz %s
// Where neither names nor order fit, what is expected and what is there are listed.
func.func @main(%arg0: tensor<3xf32> loc("params['v']"), %arg1: tensor<2xf32> loc("y")) -> tensor<2xf32> {
  return %arg1 : tensor<2xf32>
}
