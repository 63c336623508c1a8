// RUN: not shardc explain --value arg7 %s
// RUN: shardc explain --value arg0 %s
// RUN: shardc show --value w %s
// RUN: shardc show --value arg1 %s
// RUN: not shardc show --value params %s
// Values are named as in the text, also without the percent sign, or as in JAX.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} loc("w"), %arg1: tensor<4xf32> loc("params['b']")) -> tensor<4xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
