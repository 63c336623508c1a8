// RUN: shardc compile --emit sdy %s
// RUN: shardc compile --emit sdy --allow replicate %s
// From 64 MiB on it is said unasked. A function that only others know needs all of its operand.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<32768x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
  %0 = stablehlo.custom_call @norm(%a) : (tensor<32768x1024xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
