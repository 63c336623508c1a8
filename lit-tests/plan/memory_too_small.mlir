// RUN: shardc opt --passes plan{memory=1KiB} %s
// Arguments and results alone are more than is allowed: the plan stands, and says so.
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
