// RUN: shardc explain %s
// With JAX's source lines those are what is named; lines of installed packages are passed over.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("params['w']"), %b: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>} loc("batch")) -> (tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32> loc(#dot)
  return %0 : tensor<64x256xf32> loc(#end)
}
#library = loc("flax/Dense"("/usr/lib/python3/site-packages/flax/linear.py":200:7))
#model = loc("Model.__call__"("model.py":42:9))
#main = loc("main"("train.py":7:1))
#inner = loc(callsite(#model at #main))
#stack = loc(callsite(#library at #inner))
#dot = loc("jit(step)/dot_general"(#stack))
#end = loc("jit(step)"(#main))
