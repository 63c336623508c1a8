// RUN: shardc compile --memory 16KiB --deny memory %s
// A program that holds exactly what is allowed is no error.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
