// RUN: shardc compile --stages a,b --memory 100KiB %s
// RUN: shardc compile --stages a,b --memory 60KiB %s
// What a device of a pipeline may hold is asked of its own mesh: each weight has 64 KiB.
func.func @main(%v: tensor<128x128xf32>, %w: tensor<128x128xf32>, %x: tensor<8x128xf32>) -> tensor<8x128xf32> attributes {topology = #mpmd.topology<<"m0": <["x"=1]>>, <"m1": <["x"=1]>>>} {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32> loc("jit(f)/a/dot")
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x128xf32>, tensor<128x128xf32>) -> tensor<8x128xf32> loc("jit(f)/b/dot")
  return %1 : tensor<8x128xf32>
}
