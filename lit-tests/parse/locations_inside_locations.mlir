// RUN: shardc opt --passes cse --locations %s
// An alias is printed behind those it uses, since MLIR knows an alias only from its definition on.
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %a : tensor<4xf32> loc(#path)
  return %0 : tensor<4xf32> loc(#called)
}
#path = loc("jit(f)/tanh"(#stack))
#stack = loc(callsite(#inner at #called))
#inner = loc("g"(#line))
#called = loc("model.py":9:1)
#line = loc("model.py":3:4)
