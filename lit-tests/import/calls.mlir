// RUN: shardc opt --passes import --locations %s
// Calls are inlined, callees within callees first; private functions go, and locations say who called.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":7:2)
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @once(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":3:4)
  %1 = call @once(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":4:4)
  return %1 : tensor<4xf32>
}
func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32> loc("model.py":1:0)
  return %0 : tensor<4xf32>
}
