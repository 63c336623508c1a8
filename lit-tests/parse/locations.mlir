// RUN: shardc opt --locations %s
// RUN: shardc opt %s
// Locations are kept, and printed when asked for.
func.func @main(%x: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32> loc(#here)
  return %0 : tensor<4xf32> loc(unknown)
}
#file = loc("model.py":12:5 to :31)
#caller = loc("train.py":40:1)
#call = loc(callsite(#file at #caller))
#here = loc("jit(f)/tanh"(#call))
