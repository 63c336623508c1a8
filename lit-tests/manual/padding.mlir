// RUN: shardc compile --emit manual %s
// For JAX: the per-device program inside the global signature; ten elements are padded around it.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.tanh %a : tensor<10xf32>
  return %0 : tensor<10xf32>
}
