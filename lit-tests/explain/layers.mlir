// RUN: shardc explain --tries 8 %s
// RUN: shardc explain --tries 0 --top 1 %s
// Equal collectives of equal layers are one entry, and the same annotation of all of them is changed together.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%arg0: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("x"), %arg1: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("layers[0]['w']"), %arg2: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("layers[1]['w']"), %arg3: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("layers[2]['w']"), %arg4: tensor<256x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("layers[3]['w']"), %arg5: tensor<256x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("last")) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32> loc(#l0)
  %1 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32> loc(#l1)
  %2 = stablehlo.dot_general %1, %arg3, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32> loc(#l2)
  %3 = stablehlo.dot_general %2, %arg4, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32> loc(#l3)
  %4 = stablehlo.dot_general %3, %arg5, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32> loc(#last)
  return %4 : tensor<64x64xf32>
}
#line = loc("layer"("model.py":7:9))
#end = loc("step"("model.py":12:9))
#l0 = loc("jit(step)/layers_0/dot_general"(#line))
#l1 = loc("jit(step)/layers_1/dot_general"(#line))
#l2 = loc("jit(step)/layers_2/dot_general"(#line))
#l3 = loc("jit(step)/layers_3/dot_general"(#line))
#last = loc("jit(step)/dot_general"(#end))
