// RUN: shardc compile --memory 1KiB %s
// Arguments and results alone are more than is allowed: the program stands, and says so, in the bytes that cost prints.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
