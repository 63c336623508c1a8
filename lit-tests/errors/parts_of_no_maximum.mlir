// RUN: not shardc compile %s
// Nothing makes parts of a maximum of the negated ones.
sdy.mesh @mesh = <["x"=2, "c"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced=max{"c"}>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}], unreduced=max{"c"}>}) {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}], unreduced=max{"c"}>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
